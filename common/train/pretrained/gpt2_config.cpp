#include "pretrained/gpt2_config.hpp"

#include <array>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/json.hpp"
#include "checkpoint/manifest.hpp"

namespace lockstep::pretrained {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr std::int64_t kLargestSize = 1 << 24;  // of one entry; beyond any GPT-2, and a product of two cannot overflow
constexpr std::int64_t kMostLayers = 10'000;    // names and shapes are in memory before a file is compared

// Reads entries of one file; missing or null entries have a default.
class Entries {
 public:
  Entries(const json& config, const fs::path& path) : config_(config), path_(path) {}

  [[nodiscard]] std::int64_t size(const char* name, std::int64_t usual, std::int64_t largest = kLargestSize) const {
    const json value = get(name, usual);
    const bool is_size = value.is_number_integer() && value >= 1 && value <= largest;
    if (!is_size) fail(name, value, concat("a number from 1 to ", largest));
    return value.get<std::int64_t>();
  }

  // @throws FormatError  The entry differs from `expected`, which is also its default.
  void require_value(const char* name, const json& expected) const {
    const json value = get(name, expected);
    if (value != expected) fail(name, value, concat(dump_json(expected), ", which is all that this GPT computes"));
  }

  [[nodiscard]] json get(const char* name, const json& usual) const {
    const auto found = config_.find(name);
    return found == config_.end() || found->is_null() ? usual : *found;
  }

  [[noreturn]] void fail(const char* name, const json& value, const std::string& expected) const {
    throw FormatError(concat(path_.string(), ": ", name, " is ", dump_json(value, kOneLine, BadUtf8::kReplace),
                             ", expected ", expected));
  }

 private:
  const json& config_;
  const fs::path& path_;
};

// GELU's tanh form has several names.
void require_known_activation(const Entries& entries) {
  const json name = entries.get("activation_function", "gelu_new");
  if (name == "gelu_new" || name == "gelu_pytorch_tanh") return;
  entries.fail("activation_function", name, "\"gelu_new\" (GELU in its tanh form), as GPT-2 has it");
}

void require_gpt2(const Entries& entries) {
  entries.require_value("model_type", "gpt2");
  require_known_activation(entries);
  entries.require_value("layer_norm_epsilon", 1e-5);
  entries.require_value("scale_attn_weights", true);
  entries.require_value("scale_attn_by_inverse_layer_idx", false);
  entries.require_value("add_cross_attention", false);
}

}  // namespace

bool has_untied_head(std::string_view text, const fs::path& path) {
  const json config = checkpoint::parse_json(text, path);
  if (!config.is_object()) throw FormatError(concat(path.string(), " is not a JSON object"));
  const Entries entries(config, path);
  const json is_tied = entries.get("tie_word_embeddings", true);
  if (!is_tied.is_boolean()) entries.fail("tie_word_embeddings", is_tied, "true or false");
  return !is_tied.get<bool>();
}

nn::GptConfig parse_gpt2_config(std::string_view text, const fs::path& path) {
  const json config = checkpoint::parse_json(text, path);
  if (!config.is_object()) throw FormatError(concat(path.string(), " is not a JSON object"));
  const Entries entries(config, path);
  require_gpt2(entries);
  nn::GptConfig sizes;
  const std::string folder = path.parent_path().filename().string();
  sizes.name = folder.empty() ? "gpt2" : folder;
  sizes.vocabulary_size = entries.size("vocab_size", 50257);
  sizes.channels = entries.size("n_embd", 768);
  sizes.head_count = entries.size("n_head", 12);
  sizes.layer_count = entries.size("n_layer", 12, kMostLayers);
  sizes.context_length = entries.size("n_positions", 1024);
  entries.require_value("n_inner", 4 * sizes.channels);
  if (sizes.channels % sizes.head_count != 0) {
    entries.fail("n_embd", sizes.channels, concat("a multiple of n_head, which is ", sizes.head_count));
  }
  return sizes;
}

}  // namespace lockstep::pretrained
