#include "nn/gpt_parameters.hpp"

#include <utility>

#include "base/error.hpp"

namespace lockstep::nn {
namespace {

// Collects the parameters of a rank.
class Parameters {
 public:
  Parameters(const GptConfig& config, const ModelShare& share)
      : channels_(config.channels), tensor_(share.tensor), rank_(share.tensor_rank) {}

  // This rank's part of `count` rows or columns.
  [[nodiscard]] std::int64_t part_of(std::int64_t count) const {
    return count * (rank_ + 1) / tensor_ - count * rank_ / tensor_;
  }

  void add(const std::string& name, const Shape& shape) { all_.push_back({name, shape}); }

  void add_norm(const std::string& module) {
    add(module + ".weight", {channels_});
    add(module + ".bias", {channels_});
  }

  // Into heads or hidden channels: divided by columns.
  void add_wide(const std::string& module, std::int64_t outputs) {
    add(module + ".weight", {channels_, outputs});
    add(module + ".bias", {outputs});
  }

  // Back to the stream: divided by rows.
  void add_narrow(const std::string& module, std::int64_t inputs) {
    add(module + ".weight", {inputs, channels_});
    if (rank_ == 0) add(module + ".bias", {channels_});
  }

  [[nodiscard]] std::vector<ParameterShape> take() { return std::move(all_); }

 private:
  std::int64_t channels_, tensor_, rank_;
  std::vector<ParameterShape> all_;
};

void require_possible(const GptConfig& config, const ModelShare& share) {
  require_valid(config);
  require(share.tensor >= 1 && config.head_count % share.tensor == 0, "gpt_parameters: ", config.head_count,
          " heads do not divide among ", share.tensor, " ranks");
  require(share.pipeline >= 1 && config.layer_count >= share.pipeline, "gpt_parameters: ", config.layer_count,
          " blocks are too few for ", share.pipeline, " ranks");
  require(share.last_stage_blocks >= 0 &&
              (share.pipeline == 1 || config.layer_count - share.last_stage_blocks >= share.pipeline - 1),
          "gpt_parameters: with ", share.last_stage_blocks, " of ", config.layer_count,
          " blocks on the last rank, the others are too few for ", share.pipeline - 1, " ranks");
  require(share.tensor_rank >= 0 && share.tensor_rank < share.tensor && share.pipeline_rank >= 0 &&
              share.pipeline_rank < share.pipeline,
          "gpt_parameters: there is no tensor rank ", share.tensor_rank, " of ", share.tensor, " with pipeline rank ",
          share.pipeline_rank, " of ", share.pipeline);
}

}  // namespace

Range blocks_of(const GptConfig& config, const ModelShare& share) {
  const bool is_last_apart = share.last_stage_blocks > 0 && share.pipeline > 1;
  const std::int64_t layers = config.layer_count, divided = layers - (is_last_apart ? share.last_stage_blocks : 0);
  if (is_last_apart && share.is_last()) return {divided, layers};
  const std::int64_t ranks = share.pipeline - (is_last_apart ? 1 : 0);
  return {divided * share.pipeline_rank / ranks, divided * (share.pipeline_rank + 1) / ranks};
}

std::vector<ParameterShape> gpt_parameters(const GptConfig& config, const ModelShare& share) {
  require_possible(config, share);
  Parameters all(config, share);
  const std::int64_t C = config.channels, part = all.part_of(C);
  if (share.is_first()) all.add("wte.weight", {all.part_of(config.vocabulary_size), C});
  if (share.is_first() && share.tensor_rank == 0) all.add("wpe.weight", {config.context_length, C});
  const Range blocks = blocks_of(config, share);
  for (std::int64_t layer = blocks.begin; layer < blocks.end; ++layer) {
    const std::string block = concat("h.", layer, ".");
    all.add_norm(block + "ln_1");
    all.add_wide(block + "attn.c_attn", 3 * part);
    all.add_narrow(block + "attn.c_proj", part);
    all.add_norm(block + "ln_2");
    all.add_wide(block + "mlp.c_fc", all.part_of(4 * C));
    all.add_narrow(block + "mlp.c_proj", all.part_of(4 * C));
  }
  if (share.is_last()) all.add_norm("ln_f");
  return all.take();
}

std::vector<ParameterShape> gpt_parameters(const GptConfig& config) { return gpt_parameters(config, ModelShare{}); }

std::int64_t gpt_parameter_count(const GptConfig& config) {
  std::int64_t count = 0;
  for (const ParameterShape& parameter : gpt_parameters(config)) count += parameter.shape.count();
  return count;
}

}  // namespace lockstep::nn
