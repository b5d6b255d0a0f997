#pragma once
/// @file
/// Lists of F, B and W on paper, for the judge of exercise 11.5 and unusual right answers.
#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "11_pipeline_parallel/5_backward_in_two/backward_in_two.hpp"

namespace lockstep::exercise {

using SplitLists = std::vector<std::vector<pipeline::Task>>;

/// The most micro-batches between the beginning of F and the end of W.
[[nodiscard]] inline int most_held_by(const std::vector<pipeline::Task>& tasks) {
  int held = 0, most = 0;
  for (const auto& [part, micro_batch] : tasks) {
    if (part == pipeline::Part::kForward) most = std::max(most, ++held);
    if (part == pipeline::Part::kWeightGradients) --held;
  }
  return most;
}

/// The lists with a time for each task.
class SplitTimes {
 public:
  /// Each task begins as soon as its rank is free and its inputs are there, and takes a unit. Tasks that never can are
  /// left out.
  explicit SplitTimes(const SplitLists& lists) : begins_(lists.size()) {
    bool goes_on = true;
    while (goes_on) {
      goes_on = false;
      for (std::size_t rank = 0; rank < lists.size(); ++rank)
        while (begins_[rank].size() < lists[rank].size() && begin(lists, rank)) goes_on = true;
    }
  }

  /// The end of the last task.
  [[nodiscard]] int units() const {
    int last = 0;
    for (const std::vector<int>& begins : begins_)
      if (!begins.empty()) last = std::max(last, begins.back() + 1);
    return last;
  }

  /// A line for each rank: "ab.A0B1", with at most `width` units.
  [[nodiscard]] std::vector<std::string> picture(const SplitLists& lists, std::size_t width) const {
    std::vector<std::string> lines;
    for (std::size_t rank = 0; rank < lists.size(); ++rank) {
      std::string& line = lines.emplace_back(std::min(width, static_cast<std::size_t>(units())), '.');
      for (std::size_t i = 0; i < begins_[rank].size(); ++i) {
        const auto at = static_cast<std::size_t>(begins_[rank][i]);
        if (at < line.size()) line[at] = letter_of(lists[rank][i]);
      }
    }
    return lines;
  }

 private:
  static char letter_of(const pipeline::Task& task) {
    constexpr char kFirst[] = {'a', 'A', '0'};
    const int letters = task.part == pipeline::Part::kWeightGradients ? 10 : 26;
    return static_cast<char>(kFirst[static_cast<int>(task.part)] + task.micro_batch % letters);
  }

  // The end of a task; -1: it has none yet.
  [[nodiscard]] int end_of(std::size_t rank, const pipeline::Task& task) const {
    const auto found = ends_.find({rank, {static_cast<int>(task.part), task.micro_batch}});
    return found == ends_.end() ? -1 : found->second;
  }

  bool begin(const SplitLists& lists, std::size_t rank) {
    using pipeline::Part;
    std::vector<int>& begins = begins_[rank];
    const pipeline::Task& task = lists[rank][begins.size()];
    int time = begins.empty() ? 0 : begins.back() + 1;
    std::vector<std::pair<std::size_t, pipeline::Task>> needs;
    if (task.part == Part::kForward && rank > 0) needs.push_back({rank - 1, task});
    if (task.part == Part::kInputGradient) needs.push_back({rank, {Part::kForward, task.micro_batch}});
    if (task.part == Part::kInputGradient && rank + 1 < lists.size()) needs.push_back({rank + 1, task});
    if (task.part == Part::kWeightGradients) needs.push_back({rank, {Part::kInputGradient, task.micro_batch}});
    for (const auto& [other, need] : needs) {
      const int end = end_of(other, need);
      if (end < 0) return false;
      time = std::max(time, end);
    }
    begins.push_back(time);
    ends_[{rank, {static_cast<int>(task.part), task.micro_batch}}] = time + 1;
    return true;
  }

  std::vector<std::vector<int>> begins_;                             // by rank and place in the list
  std::map<std::pair<std::size_t, std::pair<int, int>>, int> ends_;  // by rank, part and micro-batch
};

}  // namespace lockstep::exercise
