#include "pretrained/gpt2_weights.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "pretrained/gpt2_layout.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace lockstep::pretrained;
using test::gpt2_tensors;
using test::Layout;
using test::RawTensor;
using test::small_gpt2;

namespace {

checkpoint::TensorFiles write_model(const test::TemporaryFolder& folder, const std::vector<RawTensor>& tensors) {
  test::write_raw(folder / "model.safetensors", tensors);
  return checkpoint::TensorFiles(folder.path());
}

// Whether every parameter has the values that the file was written with.
bool has_values(const nn::Gpt& model, const std::string& type) {
  int number = 0;
  for (const nn::NamedParameter& named : model.named_parameters()) {
    const auto values = named.parameter.value().span<float>();
    const auto expected = test::values_of_parameter(number++, named.parameter.value().shape(), type);
    if (!std::equal(values.begin(), values.end(), expected.begin(), expected.end())) return false;
  }
  return true;
}

std::string refusal(const std::vector<RawTensor>& tensors) {
  const test::TemporaryFolder folder;
  nn::Gpt model(small_gpt2(), 1);
  const float before = model.parameters().front().value().span<float>()[0];
  try {
    load_gpt2_weights(write_model(folder, tensors), model);
    return "";
  } catch (const FormatError& error) {
    CHECK(model.parameters().front().value().span<float>()[0] == before);  // nothing is written
    return error.what();
  }
}

RawTensor& tensor_called(std::vector<RawTensor>& tensors, const std::string& name) {
  return *std::find_if(tensors.begin(), tensors.end(), [&](const RawTensor& tensor) { return tensor.name == name; });
}

}  // namespace

TEST_CASE("a file in Hugging Face's layout gives the scores that PyTorch gives", "[pretrained]") {
  const test::TemporaryFolder folder;
  nn::Gpt model(small_gpt2(), nn::InitScope::skip_init());
  load_gpt2_weights(write_model(folder, gpt2_tensors(small_gpt2(), {.mask_type = "BOOL", .has_head = true})), model);
  const auto record = parse_json(read_file(LOCKSTEP_SOURCE_DIR "/tests/train/nn/pytorch_values.json")).at("gpt");
  std::vector<std::int32_t> tokens;  // the recorder's inputs
  for (std::int32_t i = 0; i < 10; ++i) tokens.push_back((3 * i * i + i) % 11);
  const auto logits = model.logits(Tensor::from<std::int32_t>(tokens, {2, 5}));
  const auto expected = record.at("logits").get<std::vector<double>>();
  const auto found = logits.value().span<float>();
  REQUIRE(found.size() == expected.size());
  double difference = 0, largest = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    difference = std::max(difference, std::abs(static_cast<double>(found[i]) - expected[i]));
    largest = std::max(largest, std::abs(expected[i]));
  }
  CHECK(difference < 1e-5 * largest);  // as in tests/train/nn/recorded_test.cpp: some hundred roundings of 6e-8
}

TEST_CASE("files of every age load: prefix, masks, head and types as they come", "[pretrained]") {
  const std::vector<Layout> layouts = {{},
                                       {.prefix = ""},
                                       {.prefix = "", .mask_type = "F32"},
                                       {.mask_type = "U8", .has_head = true},
                                       {.prefix = "", .type = "F16", .mask_type = "BOOL"},
                                       {.type = "BF16", .has_head = true},
                                       {.mask_type = "I8"},
                                       {.prefix = "", .mask_type = "F8_E4M3"},
                                       {.prefix = "_orig_mod.transformer."},
                                       {.prefix = "module.", .mask_type = "U8"},
                                       {.prefix = "module._orig_mod.transformer."},
                                       {.prefix = "transformer._orig_mod.", .has_head = true}};
  for (const Layout& layout : layouts) {
    INFO(layout.prefix << " " << layout.type << " " << layout.mask_type << " " << layout.has_head);
    const test::TemporaryFolder folder;
    nn::Gpt model(small_gpt2(), 1);
    CHECK_FALSE(has_values(model, layout.type));
    load_gpt2_weights(write_model(folder, gpt2_tensors(small_gpt2(), layout)), model);
    CHECK(has_values(model, layout.type));
  }
}

TEST_CASE("shards load as one file does", "[pretrained]") {
  const test::TemporaryFolder folder;
  const auto tensors = gpt2_tensors(small_gpt2(), {.mask_type = "BOOL"});
  std::vector<std::vector<RawTensor>> shards(3);
  nlohmann::json map;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    shards[i % 3].push_back(tensors[i]);
    map[tensors[i].name] = concat("model-0000", i % 3 + 1, "-of-00003.safetensors");
  }
  for (std::size_t i = 0; i < 3; ++i) {
    test::write_raw(folder / concat("model-0000", i + 1, "-of-00003.safetensors"), shards[i]);
  }
  write_file(folder / checkpoint::kShardIndexFile, dump_json(nlohmann::json{{"metadata", {}}, {"weight_map", map}}));
  nn::Gpt model(small_gpt2(), 1);
  load_gpt2_weights(checkpoint::TensorFiles(folder.path()), model);
  CHECK(has_values(model, "F32"));
}

TEST_CASE("a file that is not this model is refused before anything is written", "[pretrained]") {
  const auto good = gpt2_tensors(small_gpt2(), {.mask_type = "BOOL", .has_head = true});
  CHECK(refusal(good).empty());

  auto tensors = good;
  std::erase_if(tensors, [](const RawTensor& tensor) { return tensor.name.ends_with("h.1.attn.c_attn.bias"); });
  CHECK_THAT(refusal(tensors), ContainsSubstring("1 tensors of a GPT-2 with 2 layers are missing") &&
                                   ContainsSubstring("transformer.h.1.attn.c_attn.bias"));
  tensors = good;
  tensors.push_back({"transformer.h.2.ln_1.weight", "F32", "[8]", std::string(32, '\0')});
  tensors.push_back({"score.weight", "F32", "[1]", std::string(4, '\0')});
  CHECK_THAT(refusal(tensors), ContainsSubstring("2 tensors belong to no GPT-2 with 2 layers: score.weight, "));

  tensors = good;
  tensor_called(tensors, "transformer.wpe.weight").shape = "[8,5]";
  CHECK_THAT(refusal(tensors), ContainsSubstring("wpe.weight is float32 [8, 5], expected float32 [5, 8]"));
  for (const std::string name : {"attn.c_attn", "mlp.c_fc", "mlp.c_proj"}) {
    tensors = good;
    RawTensor& matrix = tensor_called(tensors, "transformer.h.1." + name + ".weight");
    const std::size_t comma = matrix.shape.find(',');
    matrix.shape = "[" + matrix.shape.substr(comma + 1, matrix.shape.size() - comma - 2) + "," +
                   matrix.shape.substr(1, comma - 1) + "]";
    CHECK_THAT(refusal(tensors), ContainsSubstring("h.1." + name + ".weight is ") &&
                                     ContainsSubstring("it is transposed, as nn.Linear keeps its weights"));
  }
  tensors = good;
  tensor_called(tensors, "lm_head.weight").data[5] ^= 1;
  CHECK_THAT(refusal(tensors), ContainsSubstring("lm_head.weight differs from transformer.wte.weight"));
  tensors = good;
  tensor_called(tensors, "transformer.ln_f.bias") = {"transformer.ln_f.bias", "I32", "[8]", std::string(32, '\0')};
  CHECK_THAT(refusal(tensors), ContainsSubstring("ln_f.bias is int32 [8], expected float32"));
}

// The files themselves are not to be had here: the same names, shapes, types and sizes, all zeros that take no disk.
TEST_CASE("files of the four published sizes fit their models, byte for byte", "[pretrained]") {
  struct Published {
    std::string name;
    std::int64_t channels, heads, layers, parameters;
  };
  for (const auto& [name, channels, heads, layers, parameters] :
       {Published{"gpt2", 768, 12, 12, 124'439'808}, Published{"gpt2-medium", 1024, 16, 24, 354'823'168},
        Published{"gpt2-large", 1280, 20, 36, 774'030'080}, Published{"gpt2-xl", 1600, 25, 48, 1'557'611'200}}) {
    const nn::GptConfig config{name, 50257, channels, heads, layers, 1024};
    std::vector<test::RawEntry> entries;
    std::uint64_t weight_bytes = 0, mask_bytes = 0;
    for (const auto& [parameter, shape] : nn::gpt_parameters(config)) {
      const auto bytes = static_cast<std::uint64_t>(shape.count()) * 4;
      entries.push_back({parameter, "F32", test::shape_text(shape), bytes});
      weight_bytes += bytes;
    }
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      entries.push_back({concat("h.", layer, ".attn.bias"), "F32", "[1,1,1024,1024]", 4U << 20});
      mask_bytes += 4U << 20;
    }
    const test::TemporaryFolder folder;
    const auto file = folder / "model.safetensors";
    const std::string header = test::raw_header(entries);
    write_file(file, header);
    std::filesystem::resize_file(file, header.size() + weight_bytes + mask_bytes);
    CHECK(weight_bytes == static_cast<std::uint64_t>(parameters) * 4);
    CHECK_NOTHROW(require_gpt2_weights(checkpoint::TensorFiles(folder.path()), config));
  }
}
