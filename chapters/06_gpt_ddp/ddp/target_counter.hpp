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

  /// How many ranks have no samples in the step; 0 before the first one. Waits for the count.
  [[nodiscard]] std::int64_t ranks_without_samples();
  /// Whether this rank has any.
  [[nodiscard]] bool has_samples() const noexcept { return own_[1] > 0; }

  /// The weight of this rank's mean in the mean over ranks: 1 if all have equally many targets. Waits for the count.
  [[nodiscard]] double weight();

 private:
  using Counts = std::array<std::int64_t, 2>;                        // targets and samples
  static constexpr std::int64_t kNoSamples = std::int64_t{1} << 40;  // more than a step has; stands for 0 in a message

  comm::ProcessGroup* group_;
  Counts own_{};
  std::shared_ptr<Counts> of_all_ranks_;  // valid after reduction_
  comm::Work reduction_;
};

}  // namespace lockstep::ddp
