#pragma once
/// @file
/// The layers of a GPT that a group of ranks divides among itself: nn::Gpt model(config, scope, TensorLayers(group)).
#include <memory>

#include "10_tensor_parallel/parallel_layers.hpp"
#include "10_tensor_parallel/vocabulary_loss.hpp"
#include "nn/gpt_layers.hpp"

namespace lockstep::tensor_parallel {

/// Each rank has some heads, some of the MLP's hidden channels, and some rows of the table. Added once, and so on rank
/// 0 only: the positions, and the biases of projections back to the stream. The norms are on all ranks; rank 0 owns
/// them.
///
/// A loss and its backward make 4 L + 2 all-reduces for L blocks: two a block in either direction, one after the
/// embedding, one in the backward pass of the head; and an all-gather of three numbers for each row of logits. With
/// RowLayout::kDivided each all-reduce becomes its two halves, a reduce-scatter and an all-gather, and backward makes
/// 2 L all-gathers more: layers do not keep the other ranks' rows.
class TensorLayers : public nn::GptLayers {
 public:
  /// @param group  Must outlive the model. All its ranks compute the same batch.
  explicit TensorLayers(Group& group, RowLayout rows = RowLayout::kWhole) : group_(group), rows_(rows) {}

  [[nodiscard]] std::unique_ptr<nn::Projection> wide(std::int64_t inputs, std::int64_t outputs, int packed,
                                                     const nn::InitScope& scope) const override;
  [[nodiscard]] std::unique_ptr<nn::Projection> narrow(std::int64_t inputs, std::int64_t outputs, double deviation,
                                                       const nn::InitScope& scope) const override;
  [[nodiscard]] std::unique_ptr<nn::TokenTable> table(const nn::GptConfig& config, nn::Owner owner,
                                                      const nn::InitScope& scope) const override;
  [[nodiscard]] std::unique_ptr<nn::Embedding> positions(const nn::GptConfig& config,
                                                         const nn::InitScope& scope) const override;
  [[nodiscard]] std::unique_ptr<nn::LayerNorm> norm(std::int64_t channels, const nn::InitScope& scope) const override;
  /// @throws UsageError  As require_divisible_heads().
  [[nodiscard]] Range heads(const nn::GptConfig& config) const override;
  [[nodiscard]] nn::StreamShare stream_share() const override;

 private:
  Group& group_;
  RowLayout rows_;
};

/// @throws UsageError  The ranks cannot divide the model's heads equally; names numbers of ranks that can.
void require_divisible_heads(const nn::GptConfig& config, std::int64_t ranks);

}  // namespace lockstep::tensor_parallel
