#include "10_tensor_parallel/gpt/tensor_layers.hpp"

#include <cstdint>

#include "base/error.hpp"

namespace lockstep::tensor_parallel {

std::unique_ptr<nn::Projection> TensorLayers::wide(std::int64_t inputs, std::int64_t outputs, int packed,
                                                   const nn::InitScope& scope) const {
  return std::make_unique<ColumnParallel>(inputs, outputs, packed, scope, group_, rows_);
}

std::unique_ptr<nn::Projection> TensorLayers::narrow(std::int64_t inputs, std::int64_t outputs, double deviation,
                                                     const nn::InitScope& scope) const {
  return std::make_unique<RowParallel>(inputs, outputs, deviation, scope, group_, rows_);
}

std::unique_ptr<nn::TokenTable> TensorLayers::table(const nn::GptConfig& config, nn::Owner owner,
                                                    const nn::InitScope& scope) const {
  return std::make_unique<VocabularyParallelTable>(config, owner, scope, group_, rows_);
}

std::unique_ptr<nn::Embedding> TensorLayers::positions(const nn::GptConfig& config, const nn::InitScope& scope) const {
  return group_.rank() == 0 ? nn::GptLayers::positions(config, scope) : nullptr;
}

std::unique_ptr<nn::LayerNorm> TensorLayers::norm(std::int64_t channels, const nn::InitScope& scope) const {
  const nn::Owner owner = group_.rank() == 0 ? nn::Owner::kThisRank : nn::Owner::kAnotherRank;
  return std::make_unique<nn::LayerNorm>(channels, scope, 1e-5, owner);
}

Range TensorLayers::heads(const nn::GptConfig& config) const {
  require_divisible_heads(config, group_.world_size());
  return share_of(config.head_count, group_);
}

nn::StreamShare TensorLayers::stream_share() const {
  if (rows_ == RowLayout::kWhole) return {};
  return {.rank = group_.rank(), .ranks = group_.world_size()};
}

void require_divisible_heads(const nn::GptConfig& config, std::int64_t ranks) {
  const std::int64_t heads = config.head_count;
  if (heads % ranks == 0) return;
  std::int64_t fewer = ranks, more = ranks;
  while (heads % fewer != 0) --fewer;
  while (more < heads && heads % more != 0) ++more;
  throw UsageError(concat(heads, " heads do not divide among ", ranks, " ranks; use ", fewer,
                          more <= heads ? concat(" or ", more) : ""));
}

}  // namespace lockstep::tensor_parallel
