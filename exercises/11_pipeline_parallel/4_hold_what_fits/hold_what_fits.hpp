#pragma once
/// @file
/// Given: the functions of exercise 11.4 as their callers see them.
#include <cstdint>
#include <span>
#include <vector>

#include "11_pipeline_parallel/schedules/schedule.hpp"  // IWYU pragma: export
#include "exercise/todo.hpp"                            // IWYU pragma: export

namespace lockstep::pipeline {

/// The memory that one rank needs while it goes through its list, in bytes. Weights, AdamW's moments and the batch are
/// there all the time, and are not counted. The first three are of one micro-batch.
struct StageBytes {
  std::int64_t input = 0;             ///< The activation that arrives; 0 in the first stage.
  std::int64_t saved = 0;             ///< All that the layers keep for backward.
  std::int64_t output = 0;            ///< The activation that is sent; 0 in the last stage.
  std::int64_t weight_gradients = 0;  ///< Of the stage: one buffer, to which each backward pass adds.
};

/// The bytes that a rank needs during each action of its list.
/// - During a forward pass it has the micro-batch's input, what is saved, and the output. At the end of the pass the
///   output is sent, and its elements are freed. Input and saved are held until the end of the backward pass.
/// - During a backward pass it also has the gradient of the output and the gradient of the input, each as large as what
///   it is the gradient of. Both are freed at the end of the pass: the input's gradient has been sent then.
/// - The weights' gradients are there from the beginning of the first backward pass to the end of the list.
/// - A forward pass whose backward pass is not in the list, as in an evaluation, saves nothing. Its input and output
///   are there during the pass only.
///
/// @param actions  Of one rank with one stage: at most one forward and one backward pass of each micro-batch, the
///                 forward pass first; otherwise in any order.
/// @return  One number for each action.
[[nodiscard]] std::vector<std::int64_t> bytes_during(std::span<const Action> actions, const StageBytes& bytes);

/// The most micro-batches that a rank can hold at the same time in training, if none of its passes is to need more than
/// `budget` bytes, as counted by bytes_during(). A micro-batch is held from the beginning of its forward pass to the
/// end of its backward pass. 0: not even one fits.
/// @pre  input + saved is more than 0.
[[nodiscard]] int most_that_fit(const StageBytes& bytes, std::int64_t budget);

/// The shortest schedule within given limits, with one stage on each rank: a forward pass takes 1 unit on every rank, a
/// backward pass 2, and messages take no time. Forward passes come in the order 0, 1, 2, ..., and so do backward
/// passes.
/// @param micro_batches  m, at least 1.
/// @param most_held      By rank, each at least 1: of p ranks, rank r holds at most min(most_held[r], p - r).
[[nodiscard]] Schedule schedule_within(int micro_batches, std::span<const int> most_held);

}  // namespace lockstep::pipeline
