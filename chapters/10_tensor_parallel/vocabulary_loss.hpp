#pragma once
/// @file
/// A token table of which each rank has some rows, and the loss of logits of which each rank has some columns.
#include "10_tensor_parallel/parallel_layers.hpp"
#include "kernels/vocabulary_part.hpp"
#include "nn/gpt_config.hpp"
#include "nn/gpt_layers.hpp"

namespace lockstep::tensor_parallel {

/// The mean of -log softmax(logits)[target], as autograd::head_cross_entropy(), without any rank's ever having a whole
/// row of logits. Of each row a rank knows the largest of its logits, the sum of their exponentials, and the target's
/// logit if it has that column. These three numbers are gathered; from those of all ranks follows the row's loss.
///
/// @param hidden   [..., C], whole. Its gradient is partial: pass copy_to_ranks() or gather_rows() of the variable.
/// @param rows     [tokens of `part`, C]: this rank's rows of the table.
/// @param part     Which tokens these are.
/// @param targets  [...] int32, in the whole vocabulary or ignored (-100); the same on all ranks.
/// @return         One element, equal bits on all ranks.
/// @cost  An all-gather of 3 numbers per row. Memory: this rank's columns of the logits, from forward to backward.
[[nodiscard]] Variable vocabulary_cross_entropy(const Variable& hidden, const Variable& rows,
                                                const kernels::VocabularyPart& part, const Tensor& targets,
                                                Group& group);

/// The tied table and head of a GPT. Rank r of t has rows [V r/t, V (r+1)/t): no padding, so any V will do.
class VocabularyParallelTable : public nn::TokenTable {
 public:
  /// @param config  Of the whole model. @param owner  See nn::GptLayers::table().
  /// @param group   Must outlive the table.
  /// @throws ContractError  More ranks than tokens.
  VocabularyParallelTable(const nn::GptConfig& config, nn::Owner owner, const nn::InitScope& scope, Group& group,
                          RowLayout rows = RowLayout::kWhole);

  /// A rank looks up the tokens that it has; for the others it adds zeros. @param positions  On rank 0 only.
  /// @return  [B, T, C], or [B T / t, C] with RowLayout::kDivided.
  [[nodiscard]] Variable embed(const Tensor& tokens, const Variable& positions) const override;
  /// @param hidden  As embed() returns it.
  [[nodiscard]] Variable loss(const Variable& hidden, const Tensor& targets) const override;
  [[nodiscard]] const Variable& weight() const noexcept override { return weight_; }

 protected:
  /// @name For a class that derives from this one, as in exercises/mine
  /// @{
  [[nodiscard]] virtual Variable leaving(const Variable& partial) const;  ///< As RowParallel::leaving().
  [[nodiscard]] virtual Variable entering(const Variable& hidden) const;  ///< As ColumnParallel::entering().
  /// As loss(). @param hidden  As vocabulary_cross_entropy() takes it.
  [[nodiscard]] virtual Variable loss_of_whole(const Variable& hidden, const Tensor& targets) const;
  /// @}

 private:
  Group& group_;
  RowLayout rows_;
  kernels::VocabularyPart part_;
  Variable weight_;
};

}  // namespace lockstep::tensor_parallel
