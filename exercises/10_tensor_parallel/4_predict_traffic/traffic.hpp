#pragma once
/// @file
/// Given: the two predictions of exercise 10.4 as their callers see them.
#include <cstdint>

#include "exercise/todo.hpp"

namespace lockstep::tensor_parallel {

/// Who has the rows of the activations between the cut layers.
enum class Rows {
  kWhole,   ///< Every rank has all of them.
  kDivided  ///< Each rank has 1/N of them: sequence parallelism.
};

/// Training a GPT in float32, its layers cut among the ranks of one group.
struct TensorRun {
  std::int64_t blocks = 1;         ///< L
  std::int64_t rows = 2;           ///< R: positions of all samples of a micro-batch; a multiple of `ranks`.
  std::int64_t channels = 2;       ///< C, a multiple of `ranks`.
  std::int64_t vocabulary = 2;     ///< V
  std::int64_t ranks = 2;          ///< At least 2.
  std::int64_t micro_batches = 1;  ///< Forward and backward passes before the update, at least 1.
  Rows layout = Rows::kWhole;
  bool recomputes_blocks = false;  ///< Backward computes each block's forward pass again before it passes the block.
};

/// Collectives that each rank issues in a step.
struct CollectiveCounts {
  std::int64_t all_reduces = 0;
  std::int64_t all_gathers = 0;
  std::int64_t reduce_scatters = 0;

  bool operator==(const CollectiveCounts&) const = default;
};

/// A block has two *halves*, attention and the MLP. Each is a layer that is cut by columns and one that is cut by rows.
/// The table of tokens is cut by tokens: as the embedding, each rank looks up its own tokens, and the sum over the
/// ranks is the result; as the head, each rank computes its own tokens' logits, from all rows.
///
/// With Rows::kWhole, all of [R, C]:
/// - Each half and the head begin with copy_to_ranks(): an all-reduce in backward.
/// - Each half and the embedding end with sum_over_ranks(): an all-reduce in forward.
///
/// With Rows::kDivided, also of [R, C] in all:
/// - Each half and the head begin with gather_rows(): an all-gather in forward, a reduce-scatter in backward. A half
///   does not keep the gathered rows: backward gathers them once more. The head keeps them, since its backward follows.
/// - Each half and the embedding end with scatter_sum(): a reduce-scatter in forward, an all-gather in backward.
/// - Once a step, after the last micro-batch, one all-reduce sums the gradients of all norms: two in each block and one
///   after the last, each with a weight and a bias of C elements.
///
/// With both, once a micro-batch: the loss, for which each rank contributes 3 numbers of each of the R rows to one
/// all-gather.
///
/// recomputes_blocks repeats all that forward does in a block, and changes nothing else. A few single numbers (the
/// loss, the norm of the gradients) are left out.
[[nodiscard]] CollectiveCounts collectives(const TensorRun& run);

/// Bytes that each rank sends in these collectives. An all-gather or a reduce-scatter of E elements in all sends
/// (ranks - 1) / ranks of their bytes, an all-reduce twice that.
[[nodiscard]] std::int64_t bytes_sent(const TensorRun& run);

}  // namespace lockstep::tensor_parallel
