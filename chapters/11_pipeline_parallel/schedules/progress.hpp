#pragma once
/// @file
/// How far the ranks of a schedule have come.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <vector>

#include "11_pipeline_parallel/schedules/schedule.hpp"

namespace lockstep::pipeline {

/// Goes through a schedule, one action at a time. Refers to the schedule, which must outlive it.
class Progress {
 public:
  explicit Progress(const Schedule& schedule)
      : schedule_(schedule), stages_(stages_of(schedule)), positions_(schedule.size()) {}

  /// The next action of `rank`; null after its last one.
  [[nodiscard]] const Action* next(int rank) const {
    const auto at = static_cast<std::size_t>(rank);
    return positions_[at] < schedule_[at].size() ? &schedule_[at][positions_[at]] : nullptr;
  }

  /// The first need of `action` that is not done.
  [[nodiscard]] std::optional<Action> missing(const Action& action) const {
    for (const Action& need : needs_of(action, stages_))
      if (!done_.contains(need)) return need;
    return std::nullopt;
  }

  /// The first rank whose next action has all it needs.
  [[nodiscard]] std::optional<int> ready_rank() const {
    for (int rank = 0; rank < static_cast<int>(schedule_.size()); ++rank)
      if (next(rank) != nullptr && !missing(*next(rank))) return rank;
    return std::nullopt;
  }

  /// `rank` does its next action. @pre  There is one.
  Action advance(int rank) {
    const Action action = *next(rank);
    ++positions_[static_cast<std::size_t>(rank)];
    done_.insert(action);
    return action;
  }

 private:
  const Schedule& schedule_;
  int stages_;
  std::vector<std::size_t> positions_;  // by rank
  std::set<Action> done_;
};

}  // namespace lockstep::pipeline
