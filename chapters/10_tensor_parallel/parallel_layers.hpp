#pragma once
/// @file
/// Matrices of which each rank has a part: by columns before, by rows after what works on single elements or heads.
#include <cstdint>

#include "10_tensor_parallel/parallel_functions.hpp"
#include "nn/init.hpp"
#include "nn/layers.hpp"
#include "tensor/slice.hpp"

namespace lockstep::tensor_parallel {

/// The rows of the residual stream that a rank has between the layers.
enum class RowLayout {
  kWhole,    ///< All of them: [B, T, C].
  kDivided,  ///< Its share: [B T / t, C]. Norms and dropout are divided too ("sequence parallel").
};

/// This rank's share of `count`, [count r/t, count (r+1)/t): as equal as possible, without padding.
[[nodiscard]] Range share_of(std::int64_t count, const Group& group);

/// Of a matrix with `packed` matrices side by side, this rank's share of the columns of each. In queries, keys and
/// values these are the columns of its heads. @param whole  [inputs, outputs], or [outputs] of a bias.
[[nodiscard]] Slice columns_of_rank(const Shape& whole, int packed, const Group& group);

/// nn::Conv1D of which this rank has some columns, of the weight and of the bias: it computes these columns of the
/// output, and nothing is summed. Names and initial values are the whole layer's.
class ColumnParallel : public nn::Projection {
 public:
  /// @param inputs, outputs  Channels of the whole layer. @param packed  See columns_of_rank().
  /// @param scope  Names and seeds. @param group  Must outlive the layer.
  /// @throws ContractError  The ranks cannot divide the outputs equally.
  ColumnParallel(std::int64_t inputs, std::int64_t outputs, int packed, const nn::InitScope& scope, Group& group,
                 RowLayout rows = RowLayout::kWhole);

  /// @param input  [..., in], or [R/t, in] with RowLayout::kDivided. @return  [..., out/t].
  /// @cost  Backward: one all-reduce. kDivided: an all-gather; in backward another one, because the other ranks' rows
  ///        are not kept for it, and a reduce-scatter.
  [[nodiscard]] Variable forward(const Variable& input) const override;
  [[nodiscard]] Variable forward_of_gelu(const Variable& input) const override;

 protected:
  /// The input as this rank's columns take it. A class that derives from this one may replace it, as exercises/mine
  /// does with a learner's code; that holds for leaving() too. @pre  RowLayout::kWhole.
  [[nodiscard]] virtual Variable entering(const Variable& input) const;

 private:
  Group& group_;
  RowLayout rows_;
  Variable weight_, bias_;
};

/// nn::Conv1D of which this rank has some rows: it takes these channels of the input, and the ranks' outputs are
/// summed. The bias must be added once, so it is on rank 0 only.
class RowParallel : public nn::Projection {
 public:
  /// @param inputs, outputs  Channels of the whole layer. @param deviation  Of the initial weights.
  /// @param scope  Names and seeds. @param group  Must outlive the layer.
  /// @throws ContractError  The ranks cannot divide the inputs equally.
  RowParallel(std::int64_t inputs, std::int64_t outputs, double deviation, const nn::InitScope& scope, Group& group,
              RowLayout rows = RowLayout::kWhole);

  /// @param input  [..., in/t]. @return  [..., out], or [R/t, out] with RowLayout::kDivided.
  /// @cost  One all-reduce; kDivided: a reduce-scatter, and an all-gather in backward.
  [[nodiscard]] Variable forward(const Variable& input) const override;
  [[nodiscard]] Variable forward_of_gelu(const Variable& input) const override;

 protected:
  /// The output, of the ranks' parts of its sum.
  [[nodiscard]] virtual Variable leaving(const Variable& partial) const;

 private:
  Group& group_;
  RowLayout rows_;
  Variable weight_;
  Variable bias_;  // undefined on other ranks
};

}  // namespace lockstep::tensor_parallel
