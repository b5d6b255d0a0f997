#pragma once
/// @file
/// A small GPT-2 in the layout of Hugging Face's files, with the parameters of tests/train/nn/record_pytorch.py.
/// Private to these tests.
#include <cmath>
#include <string>
#include <vector>

#include "nn/gpt_parameters.hpp"
#include "support/raw_safetensors.hpp"

namespace lockstep::test {

/// The differences of files of different ages around the weights.
struct Layout {
  std::string prefix = "transformer.";
  std::string type = "F32";    // of the weights: F32, F16 or BF16
  std::string mask_type = {};  // of attn.bias: BOOL, U8 or F32; empty: no masks
  bool has_head = false;       // lm_head.weight
};

inline nn::GptConfig small_gpt2() { return {"recorded", 11, 8, 2, 2, 5}; }

/// Element i of parameter `number`, as the recorder has it; with half precision a number of few bits.
inline float element_of(int number, std::int64_t i, const std::string& type) {
  if (type == "F32") return static_cast<float>(0.5 * std::sin(1.0 + 0.7 * number + 1.3 * static_cast<double>(i)));
  return static_cast<float>((number * 7 + i * 3) % 64 - 32) / 64;  // 6 bits: exact in F16 and BF16
}

/// An exact float16 of a number with few bits, by IEEE 754's definition.
inline std::uint16_t float16_bits(float value) {
  if (value == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(std::abs(static_cast<double>(value)), &exponent);  // in [0.5, 1)
  const auto mantissa = static_cast<unsigned>(std::lround((2 * fraction - 1) * 1024));
  return static_cast<std::uint16_t>((value < 0 ? 0x8000U : 0U) | (static_cast<unsigned>(exponent + 14) << 10) |
                                    mantissa);  // 2 * fraction: exponent - 1 + 15
}

inline std::string encoded(const std::vector<float>& values, const std::string& type) {
  if (type == "F32") return bytes_from(values);
  std::vector<std::uint16_t> halves;
  for (const float value : values) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    halves.push_back(type == "F16" ? float16_bits(value) : static_cast<std::uint16_t>(bits >> 16));
  }
  return bytes_from(halves);
}

inline std::string shape_text(const Shape& shape) {
  std::string text = "[";
  for (const std::int64_t size : shape.dimensions()) text += concat(text.size() > 1 ? "," : "", size);
  return text + "]";
}

inline std::vector<float> values_of_parameter(int number, const Shape& shape, const std::string& type) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < shape.count(); ++i) values.push_back(element_of(number, i, type));
  return values;
}

/// attn.bias [1, 1, T, T] with ones at the keys that a query sees, and attn.masked_bias.
inline void add_masks(std::vector<RawTensor>& tensors, const nn::GptConfig& config, const Layout& layout) {
  const std::int64_t T = config.context_length;
  for (std::int64_t layer = 0; layer < config.layer_count; ++layer) {
    std::string mask;
    for (std::int64_t at = 0; at < T * T; ++at) {
      const bool is_seen = at % T <= at / T;
      mask += layout.mask_type == "F32" ? bytes_from<float>({is_seen ? 1.0F : 0.0F})
                                        : std::string(1, static_cast<char>(is_seen));
    }
    const std::string name = concat(layout.prefix, "h.", layer, ".attn.");
    tensors.push_back({name + "bias", layout.mask_type, shape_text({1, 1, T, T}), mask});
    tensors.push_back({name + "masked_bias", "F32", "[]", bytes_from<float>({-1e4F})});
  }
}

/// All tensors of the small model's file.
inline std::vector<RawTensor> gpt2_tensors(const nn::GptConfig& config, const Layout& layout) {
  std::vector<RawTensor> tensors;
  int number = 0;
  for (const auto& [name, shape] : nn::gpt_parameters(config)) {
    const std::vector<float> values = values_of_parameter(number++, shape, layout.type);
    tensors.push_back({layout.prefix + name, layout.type, shape_text(shape), encoded(values, layout.type)});
    if (layout.has_head && name == "wte.weight") {
      tensors.push_back({"lm_head.weight", layout.type, shape_text(shape), tensors.back().data});
    }
  }
  if (!layout.mask_type.empty()) add_masks(tensors, config, layout);
  return tensors;
}

/// The character by which vocab.json writes a byte: itself if it is printed in Latin-1, else one from U+0100 on.
inline std::string vocabulary_character(int byte) {
  const auto is_printed = [](int b) { return (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE; };
  int code_point = byte;
  if (!is_printed(byte)) {
    code_point = 0x100;
    for (int b = 0; b < byte; ++b) code_point += is_printed(b) ? 0 : 1;
  }
  if (code_point < 0x80) return {static_cast<char>(code_point)};
  return {static_cast<char>(0xC0 | code_point >> 6), static_cast<char>(0x80 | (code_point & 0x3F))};
}

/// A folder as Hugging Face publishes GPT-2, with the smallest vocabulary: 256 bytes, "th", "the", the end of text.
inline void write_gpt2_folder(const std::filesystem::path& folder, const Layout& layout) {
  const nn::GptConfig config{"small", 259, 16, 2, 2, 12};
  std::filesystem::create_directories(folder);
  write_raw(folder / "model.safetensors", gpt2_tensors(config, layout));
  write_file(folder / "config.json", R"({"model_type":"gpt2","vocab_size":259,"n_embd":16,"n_head":2,"n_layer":2,)"
                                     R"("n_positions":12,"n_ctx":12,"attn_pdrop":0.1})");
  std::string vocabulary = "{";
  for (int byte = 0; byte < 256; ++byte) {
    const std::string character = vocabulary_character(byte);
    const bool is_escaped = character == "\"" || character == "\\";
    vocabulary += concat('"', is_escaped ? "\\" : "", character, "\": ", byte, ", ");
  }
  write_file(folder / "vocab.json", vocabulary + R"("th": 256, "the": 257, "<|endoftext|>": 258})");
  write_file(folder / "merges.txt", "#version: 0.2\nt h\nth e\n");
}

}  // namespace lockstep::test
