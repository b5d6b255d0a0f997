#pragma once
/// @file
/// The steps of a process, in bounded memory.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "run/metrics.hpp"

namespace lockstep::run {

/// All steps, up to a number; of a longer run every second one, then every fourth, and so on, from the first step on.
/// Without sample numbers, and only the last step has the ranks' peaks: both lists are in metrics.jsonl. Thread safety:
/// none.
class StepHistory {
 public:
  static constexpr std::size_t kMostSteps = std::size_t{1} << 16;  ///< Of some 250 bytes.
  static constexpr std::size_t kRecentSteps = 20;

  /// @param most_steps  At least 2.
  explicit StepHistory(std::size_t most_steps = kMostSteps) : most_steps_(most_steps) {}

  void add(const StepMetrics& step);

  /// In order; the step that was added last is always among them.
  [[nodiscard]] std::span<const StepMetrics> steps() const noexcept { return steps_; }
  /// The last kRecentSteps that were added, without later changes.
  [[nodiscard]] std::span<const StepMetrics> recent() const noexcept { return recent_; }
  [[nodiscard]] bool empty() const noexcept { return steps_.empty(); }
  /// The step that was added last. @pre  Not empty.
  [[nodiscard]] StepMetrics& last() { return steps_.back(); }
  [[nodiscard]] const StepMetrics& last() const { return steps_.back(); }

 private:
  void drop_every_second();

  std::size_t most_steps_;
  std::vector<StepMetrics> steps_;  // numbers 0, interval_, 2 interval_, ... of those added, and the last one
  std::vector<StepMetrics> recent_;
  std::uint64_t added_ = 0;
  std::uint64_t interval_ = 1;
};

}  // namespace lockstep::run
