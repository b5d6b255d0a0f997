#include "nn/gpt_parameters.hpp"

#include "base/text.hpp"

namespace lockstep::nn {

std::vector<ParameterShape> gpt_parameters(const GptConfig& config) {
  require_valid(config);
  const std::int64_t C = config.channels;
  std::vector<ParameterShape> all{{"wte.weight", {config.vocabulary_size, C}},
                                  {"wpe.weight", {config.context_length, C}}};
  const auto add = [&all](const std::string& module, const Shape& weight, std::int64_t outputs) {
    all.push_back({module + ".weight", weight});
    all.push_back({module + ".bias", {outputs}});
  };
  for (std::int64_t layer = 0; layer < config.layer_count; ++layer) {
    const std::string block = concat("h.", layer, ".");
    add(block + "ln_1", {C}, C);
    add(block + "attn.c_attn", {C, 3 * C}, 3 * C);
    add(block + "attn.c_proj", {C, C}, C);
    add(block + "ln_2", {C}, C);
    add(block + "mlp.c_fc", {C, 4 * C}, 4 * C);
    add(block + "mlp.c_proj", {4 * C, C}, C);
  }
  add("ln_f", {C}, C);
  return all;
}

std::int64_t gpt_parameter_count(const GptConfig& config) {
  std::int64_t count = 0;
  for (const ParameterShape& parameter : gpt_parameters(config)) count += parameter.shape.count();
  return count;
}

}  // namespace lockstep::nn
