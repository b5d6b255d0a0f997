#pragma once
/// @file
/// Given: the two predictions of exercise 09.3 as their callers see them.
#include <cstdint>
#include <vector>

#include "exercise/todo.hpp"

namespace lockstep::sharded {

/// How much of the model is divided among the ranks. Each stage divides what the one before it divides, and more.
enum class Stage {
  kDdp,    ///< Nothing: chapter 06.
  kZero1,  ///< Moments.
  kZero2,  ///< Gradients.
  kZero3   ///< Values.
};

/// A step of training in float32 with AdamW, whose two moments are float32 too. The parameters lie in *units*; forward
/// uses them in their order, backward in the opposite one, in each of the micro-batches.
struct ShardedRun {
  std::vector<std::int64_t> units;  ///< By unit: elements, a multiple of `ranks`. At least one unit.
  int ranks = 2;                    ///< At least 2.
  int micro_batches = 1;            ///< Forward and backward passes before the update, at least 1.
  int most_whole = 2;               ///< Stage 3: how many units a rank holds whole at a time, at least 1.
};

/// Bytes that each rank sends in a step: gradients and values, nothing else. An all-gather or a reduce-scatter of a
/// unit sends (ranks - 1) / ranks of its bytes, an all-reduce twice that.
///
/// - kDdp and kZero1 add up the gradients of all micro-batches before they send them.
/// - kZero2 and kZero3 reduce-scatter each unit's gradients in every micro-batch, and add up the parts: a rank does not
///   keep the rest.
/// - kZero1 and kZero2 gather all values once, after the update.
/// - kZero3 gathers a unit when a pass needs it and it is not whole on the rank. Up to `most_whole` units stay whole,
///   those that were used last; in later passes of the step too, because the values are still the same. The update
///   makes new values, so no unit is whole when the next step begins.
///
/// @return  Exactly; every rank sends the same.
[[nodiscard]] std::int64_t bytes_sent(Stage stage, const ShardedRun& run);

/// The most bytes that a rank holds of each, at any time during a step; not necessarily all three at the same time.
struct BytesHeld {
  std::int64_t values = 0;
  std::int64_t gradients = 0;
  std::int64_t moments = 0;

  bool operator==(const BytesHeld&) const = default;
};

/// - What is divided costs a rank its part, all the time.
/// - kZero2, kZero3: besides the parts there are whole gradients of the unit that backward is computing and of the one
///   before it, which is being reduced.
/// - kZero3: besides the parts there are `most_whole` whole units, those that were used last.
///
/// Activations and buffers for communication are left out.
[[nodiscard]] BytesHeld most_bytes_held(Stage stage, const ShardedRun& run);

}  // namespace lockstep::sharded
