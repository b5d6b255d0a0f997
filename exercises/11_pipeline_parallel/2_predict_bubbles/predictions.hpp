#pragma once
/// @file
/// Given: the predictions of exercise 11.2 as their callers see them.
#include <cstdint>
#include <vector>

#include "exercise/todo.hpp"

namespace lockstep::pipeline {

/// The order in which a rank does its passes.
enum class Order {
  kNaive,                 ///< A micro-batch goes forward through all stages and back, before the next one begins.
  kGpipe,                 ///< All forward passes, then all backward passes.
  kOneForwardOneBackward  ///< Rank r does p - 1 - r forward passes, then one forward and one backward pass in turn.
};

/// Training a GPT whose blocks are cut into stages, one on each rank.
struct PipelineRun {
  /// By rank, the units of time that a forward pass of one micro-batch takes; the backward pass takes twice as many.
  /// With kOneForwardOneBackward all ranks have the same.
  std::vector<std::int64_t> forward_units = {1};
  std::int64_t micro_batches = 1;  ///< m, at least 1.
  std::int64_t rows = 1;           ///< R: positions of all samples of a micro-batch.
  std::int64_t channels = 1;       ///< C
  std::int64_t vocabulary = 1;     ///< V
};

/// A rank does one pass at a time, each as soon as its input is there, and messages take no time.
/// @return  Units from the first forward pass of a step to the end of its last backward pass.
[[nodiscard]] std::int64_t step_units(Order order, const PipelineRun& run);

/// The bubble as papers give it: the time that ranks are idle during a step, all ranks added up, divided by the time
/// that they compute, also added up.
[[nodiscard]] double idle_per_busy(Order order, const PipelineRun& run);

/// The most micro-batches that `rank` holds at the same time: it has begun the forward pass, and not finished the
/// backward pass.
[[nodiscard]] std::int64_t most_held(Order order, const PipelineRun& run, std::int64_t rank);

/// Bytes that `rank` sends in a step. All numbers are float32, 4 bytes each.
/// - After a forward pass the output, [R, C], goes to the next rank, unless this is the last one.
/// - After a backward pass the gradient of the input, [R, C], goes to the rank before, unless this is the first one.
/// - The last rank needs the token table, [V, C], which the first one owns. Once a step, if there are several ranks,
///   the first one sends its values to the last one, and the last one sends the gradient of all micro-batches back.
[[nodiscard]] std::int64_t bytes_sent(const PipelineRun& run, std::int64_t rank);

}  // namespace lockstep::pipeline
