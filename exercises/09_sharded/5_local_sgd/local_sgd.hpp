#pragma once
/// @file
/// Given: training with rare communication, for exercise 09.5, as its callers see it.
#include <cstdint>
#include <span>

#include "exercise/collectives.hpp"
#include "exercise/todo.hpp"

namespace lockstep::sharded {

using exercise::Collectives;
using exercise::Work;

/// A rank's model, with its optimizer (SGD with momentum) and its samples.
class LocalModel {
 public:
  virtual ~LocalModel() = default;

  /// All values of the model, [count]. Ranks may begin with different ones.
  [[nodiscard]] virtual std::span<float> values() noexcept = 0;
  /// The optimizer's momentum, [count].
  [[nodiscard]] virtual std::span<float> moments() noexcept = 0;
  /// One step on this rank's next samples: forward, backward, update of values and moments. Sends nothing.
  virtual void step() = 0;
};

/// Trains with *local SGD*: every rank trains by itself, and now and then the ranks average their values.
///
/// All ranks begin with rank 0's values. After every `interval` steps the values become their means over all ranks, in
/// one all-reduce. After the last step they do so too, whatever its number, so that all ranks end with the same model;
/// they are not averaged twice after the same step. Moments stay each rank's own.
///
/// @param steps     At least 1. @param interval  At least 1; the same on all ranks, as `steps`.
/// @param group     All ranks call this function together.
/// @cost   A broadcast of the values, and an all-reduce of them after every `interval` steps.
/// @source Stich, "Local SGD Converges Fast and Communicates Little", ICLR 2019; Lin et al., "Don't Use Large
///         Mini-Batches, Use Local SGD", ICLR 2020.
void train_locally(LocalModel& model, std::int64_t steps, std::int64_t interval, Collectives& group);

}  // namespace lockstep::sharded
