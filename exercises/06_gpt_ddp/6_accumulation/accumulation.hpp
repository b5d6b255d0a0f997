#pragma once
/// @file
/// Given: the step in parts of exercise 06.6 as its callers see it, and the replica whose gradient it computes.
#include <cstdint>
#include <span>

#include "exercise/collectives.hpp"
#include "exercise/todo.hpp"

namespace lockstep::ddp {

using exercise::Collectives;

/// A part of this rank's share of a batch, small enough for its memory.
struct MicroBatch {
  std::int64_t index;         ///< Which part of the step, from 0.
  std::int64_t target_count;  ///< Tokens whose prediction counts in the loss; may be 0.
};

/// This rank's copy of the model.
class Replica {
 public:
  Replica() = default;
  virtual ~Replica() = default;
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  /// Computes the loss of a part, and adds `weight` times its gradient to gradient(). As loss.backward(weight).
  /// @return  The loss: the mean over the part's targets. 0 if it has none.
  virtual double backward(const MicroBatch& part, double weight) = 0;
  /// All of the model's gradients, [count]; zeros at the beginning of a step.
  [[nodiscard]] virtual std::span<float> gradient() noexcept = 0;
};

/// Computes the gradient of a whole batch, which is divided over the ranks, and on each rank into parts.
///
/// @param parts    This rank's; other ranks may have more or fewer, and of other sizes. May be empty.
/// @param replica  Its gradient is zeros at the beginning.
/// @param group    All ranks call this function together.
/// @return  The mean loss over the targets of all parts of all ranks, the same on all ranks; 0 if there are none.
/// @post    replica.gradient() is the gradient of that mean, the same bits on all ranks; zeros if there are no
///          targets.
/// @cost    The gradient is sent once, however many parts there are.
[[nodiscard]] double accumulate_step(std::span<const MicroBatch> parts, Replica& replica, Collectives& group);

}  // namespace lockstep::ddp
