#include "11_pipeline_parallel/4_hold_what_fits/hold_what_fits.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace lockstep::pipeline {

std::vector<std::int64_t> bytes_during(std::span<const Action> actions, const StageBytes& bytes) {
  std::vector<std::int64_t> result;
  // SOLUTION(11.4) bytes_during: what is there before the pass, during it, and after it
  std::set<int> comes_back;
  for (const Action& action : actions)
    if (action.pass == Pass::kBackward) comes_back.insert(action.micro_batch);
  std::int64_t kept = 0, weight_gradients = 0;
  for (const Action& action : actions) {
    if (action.pass == Pass::kForward) {
      const bool is_held = comes_back.contains(action.micro_batch);
      if (is_held) kept += bytes.input + bytes.saved;
      result.push_back(weight_gradients + kept + (is_held ? 0 : bytes.input) + bytes.output);
    } else {
      weight_gradients = bytes.weight_gradients;
      result.push_back(weight_gradients + kept + bytes.output + bytes.input);
      kept -= bytes.input + bytes.saved;
    }
  }
  // END SOLUTION
  return result;
}

int most_that_fit(const StageBytes& bytes, std::int64_t budget) {
  // SOLUTION(11.4) most_that_fit: which pass needs most?
  // A backward pass, while the rank holds as many as it ever does.
  const std::int64_t for_held = budget - bytes.weight_gradients - bytes.output - bytes.input;
  return for_held < 0 ? 0 : static_cast<int>(for_held / (bytes.input + bytes.saved));
  // END SOLUTION
}

Schedule schedule_within(int micro_batches, std::span<const int> most_held) {
  Schedule schedule(most_held.size());
  // SOLUTION(11.4) schedule_within: when does each pass begin?
  // A micro-batch never waits on its way. It begins on rank 0 at 3 times `begins`, its forward pass on rank r begins r
  // units later, and its backward pass there ends 3p - 2r units later. On every rank, forward passes begin at times
  // with the remainder r after division by 3, and backward passes take the two units after that: passes of different
  // micro-batches never meet. Rank r has room for one more when the micro-batch `most_held` before it is back, which
  // takes 3 (p - r) units.
  const int ranks = static_cast<int>(most_held.size());
  std::vector<int> begins;
  for (int i = 0; i < micro_batches; ++i) {
    int begin = i == 0 ? 0 : begins.back() + 1;
    for (int rank = 0; rank < ranks; ++rank) {
      const int before = i - most_held[static_cast<std::size_t>(rank)];
      if (before >= 0) begin = std::max(begin, begins[static_cast<std::size_t>(before)] + ranks - rank);
    }
    begins.push_back(begin);
  }
  for (int rank = 0; rank < ranks; ++rank) {
    std::map<int, Action> by_time;
    for (int i = 0; i < micro_batches; ++i) {
      const int begin = 3 * begins[static_cast<std::size_t>(i)];
      by_time[begin + rank] = {Pass::kForward, rank, i};
      by_time[begin + 3 * ranks - 2 * (rank + 1)] = {Pass::kBackward, rank, i};
    }
    for (const auto& [time, action] : by_time) schedule[static_cast<std::size_t>(rank)].push_back(action);
  }
  // END SOLUTION
  return schedule;
}

}  // namespace lockstep::pipeline
