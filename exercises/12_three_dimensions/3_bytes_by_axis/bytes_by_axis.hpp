#pragma once
/// @file
/// Given: the prediction of exercise 12.3 as its caller sees it.
#include <cstdint>

#include "exercise/todo.hpp"

namespace lockstep::bytes_by_axis {

/// Training a GPT in float32 on P D T ranks: P along the pipeline, D along the data axis, T along the tensor axis.
struct GridRun {
  std::int64_t pipeline = 1;       ///< P
  std::int64_t data = 1;           ///< D
  std::int64_t tensor = 1;         ///< T
  std::int64_t blocks = 1;         ///< L, a multiple of P. Each stage has L / P.
  std::int64_t rows = 1;           ///< R: positions of all samples of a micro-batch.
  std::int64_t channels = 1;       ///< C
  std::int64_t vocabulary = 1;     ///< V
  std::int64_t micro_batches = 1;  ///< m, of each rank, in a step.
};
// All numbers are such that every division below comes out even.

/// Bytes that a rank sends in a step.
struct BytesByAxis {
  std::int64_t pipeline = 0;
  std::int64_t data = 0;
  std::int64_t tensor = 0;

  bool operator==(const BytesByAxis&) const = default;
};

/// Predicts the bytes that a rank of stage `stage`, in [0, P), sends on each axis:
///
/// - Tensor axis, in each micro-batch: for each block of the stage two all-reduces of R C elements in forward and two
///   in backward. The first stage has one more, after the embedding; the last stage has one more, in the head's
///   backward, and an all-gather to which each of the T ranks contributes 3 R numbers.
/// - Pipeline axis, in each micro-batch: R C elements to the stage after, and R C elements, their gradient, to the
///   stage before, for those stages that there are. All T tensor ranks have whole rows, and each sends them. Once a
///   step, if P > 1: the first stage sends its rows of the table, V C / T elements, to the last, and the last stage
///   sends their gradient to the first.
/// - Data axis, once a step: a reduce-scatter of the gradients and an all-gather of the values of this rank's matrices.
///   These are 12 C C / T elements for each block of the stage, and in the first stage V C / T of the table. (The last
///   stage only borrows the table. Vectors and positions are left out.)
///
/// A collective of n ranks in which all of them together handle E elements sends (n - 1) / n of these if it is a
/// reduce-scatter or an all-gather, and twice as many if it is an all-reduce. With n = 1 it sends nothing.
[[nodiscard]] BytesByAxis bytes_sent(const GridRun& run, std::int64_t stage);

}  // namespace lockstep::bytes_by_axis
