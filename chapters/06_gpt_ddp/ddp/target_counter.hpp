#pragma once
/// @file
/// How many targets the ranks have in a step, so that each of them weighs the same.
#include <array>
#include <cstdint>
#include <memory>

#include "comm/process_group.hpp"
#include "data/dataset.hpp"

namespace lockstep::ddp {

/// Counts the targets of a step on all ranks. A rank's gradient is a mean over its own targets; if ranks have unequal
/// numbers of them, the mean over ranks is not the mean over targets unless each rank's is weighted. Targets that the
/// loss ignores do not count. Before the first step nothing is counted, and all ranks weigh the same.
/// Thread safety: one thread.
class TargetCounter {
 public:
  /// @param group  Outlives this object.
  explicit TargetCounter(comm::ProcessGroup& group) noexcept : group_(&group) {}

  /// A counter for the same ranks, which has counted nothing.
  [[nodiscard]] TargetCounter fresh() const noexcept { return TargetCounter(*group_); }

  /// Begins a step with this rank's samples, which may be none. Returns at once.
  /// @cost  An all-reduce of 16 bytes, while forward runs.
  void begin_step(const data::Batch& batch);

  /// Samples of all ranks in the step: 0 if none has any left. Waits for the count.
  [[nodiscard]] std::int64_t samples_of_all_ranks();

  /// What this rank's mean counts for in the mean over ranks: 1 if all have as many targets. Waits for the count.
  [[nodiscard]] double weight();

 private:
  comm::ProcessGroup* group_;
  std::shared_ptr<std::array<std::int64_t, 2>> of_all_ranks_;  // targets and samples, once reduction_ is done; or null
  std::int64_t own_targets_ = 0;
  comm::Work reduction_;
};

}  // namespace lockstep::ddp
