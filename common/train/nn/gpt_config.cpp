#include "nn/gpt_config.hpp"

#include <array>

#include "base/error.hpp"
#include "base/text.hpp"

namespace lockstep::nn {
namespace {

const std::array<GptConfig, 4>& named_configs() {
  static const std::array<GptConfig, 4> kConfigs{{
      {"tiny", 256, 128, 4, 4, 128, 16},
      {"small", 8192, 256, 8, 6, 256, 8},
      {"tutorial", 50257, 512, 8, 6, 127, 32},
      {"124m", 50257, 768, 12, 12, 1024, 8},
  }};
  return kConfigs;
}

}  // namespace

void require_valid(const GptConfig& c) {
  const bool is_positive =
      c.vocabulary_size > 0 && c.channels > 0 && c.head_count > 0 && c.layer_count > 0 && c.context_length > 0;
  require(is_positive, "nn: every size of a GptConfig must be at least 1 (", c.name, ")");
  require(c.channels % c.head_count == 0, "nn: ", c.channels, " channels do not divide into ", c.head_count, " heads");
  require(c.dropout >= 0 && c.dropout < 1, "nn: dropout must be in [0, 1), not ", c.dropout);
}

GptConfig GptConfig::named(std::string_view name) {
  for (const GptConfig& config : named_configs()) {
    if (config.name == name) return config;
  }
  throw FormatError(concat("no model is called '", name, "'; there are tiny, small, tutorial and 124m"));
}

std::vector<std::string> GptConfig::names() {
  std::vector<std::string> names;
  for (const GptConfig& config : named_configs()) names.push_back(config.name);
  return names;
}

}  // namespace lockstep::nn
