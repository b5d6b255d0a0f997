#pragma once
/// @file
/// Counts the ranks' targets in a step, so that every target has the same weight.
#include <array>
#include <cstdint>
#include <memory>

#include "comm/process_group.hpp"
#include "data/dataset.hpp"

namespace lockstep::ddp {

/// Counts the targets of a step on all ranks. A rank's gradient is a mean over its own targets; if ranks have unequal
/// numbers of them, the mean over ranks equals the mean over targets only with weights. Targets that the loss ignores
/// do not count. Before the first step, all ranks have the same weight. Thread safety: one thread.
class TargetCounter {
 public:
  /// @param group  Outlives this object.
  explicit TargetCounter(comm::ProcessGroup& group) noexcept : group_(&group) {}

  /// A new counter for the same ranks.
  [[nodiscard]] TargetCounter fresh() const noexcept { return TargetCounter(*group_); }

  /// Begins a step with this rank's samples, which may be none. Returns at once.
  /// @cost  An all-reduce of 16 bytes, while forward runs.
  void begin_step(const data::Batch& batch);

  /// Samples of all ranks in the step: 0 if no rank has any left. Waits for the count.
  [[nodiscard]] std::int64_t samples_of_all_ranks();

  /// The weight of this rank's mean in the mean over ranks: 1 if all have equally many targets. Waits for the count.
  [[nodiscard]] double weight();

 private:
  comm::ProcessGroup* group_;
  std::shared_ptr<std::array<std::int64_t, 2>> of_all_ranks_;  // targets and samples; valid after reduction_
  std::int64_t own_targets_ = 0;
  comm::Work reduction_;
};

}  // namespace lockstep::ddp
