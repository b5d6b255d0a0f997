#pragma once
/// @file
/// Given: the step of exercise 06.8 as its callers see it, and a rank's part of it, which may run out of memory.
#include <cstdint>
#include <span>

#include "base/error.hpp"
#include "exercise/collectives.hpp"
#include "exercise/todo.hpp"

namespace lockstep::ddp {

using exercise::Collectives;

/// There is not enough memory on a rank's device.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

/// This rank's part of a step, on a device of its own. The devices need not have equally much free memory, nor the
/// ranks equally long samples.
class LocalStep {
 public:
  LocalStep() = default;
  virtual ~LocalStep() = default;
  LocalStep(const LocalStep&) = delete;
  LocalStep& operator=(const LocalStep&) = delete;

  /// Runs forward and backward over this rank's share of the batch, `micro_batch_size` samples at a time, and adds the
  /// gradient of its mean loss to gradient(). Sends nothing.
  /// @param micro_batch_size  At least 1.
  /// @throws OutOfMemory  So many samples do not fit. gradient() may have been added to before it was noticed.
  virtual void accumulate(std::int64_t micro_batch_size) = 0;
  /// All of the model's gradients, [count]; zeros at the beginning of a step.
  [[nodiscard]] virtual std::span<float> gradient() noexcept = 0;
};

/// Computes the mean gradient of a step, with micro-batches that fit into the memory of every rank.
///
/// Begins with `micro_batch_size`. If it is too large for any rank, all ranks try again with half of it, rounded down,
/// until it fits everywhere or a size of 1 has failed.
///
/// @param micro_batch_size  At least 1, the same on all ranks. @param step    Its gradient is zeros.
/// @param group             All ranks call this function together.
/// @return  The size that fits, the same on all ranks: to be passed in the next step.
/// @post    step.gradient() is the mean over all ranks. Nothing of an attempt that failed is in it.
/// @throws OutOfMemory  On all ranks, if a size of 1 does not fit on some rank.
/// @cost    One exchange of an integer per attempt; the gradient is sent once.
[[nodiscard]] std::int64_t step_within_memory(std::int64_t micro_batch_size, LocalStep& step, Collectives& group);

}  // namespace lockstep::ddp
