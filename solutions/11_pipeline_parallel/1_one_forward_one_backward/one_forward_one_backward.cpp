#include "11_pipeline_parallel/1_one_forward_one_backward/one_forward_one_backward.hpp"

#include <algorithm>

namespace lockstep::pipeline {

Schedule one_forward_one_backward(int ranks, int micro_batches) {
  Schedule schedule;
  // SOLUTION(11.1) one_forward_one_backward: some forward passes, then one of each in turn, then what is left
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<Action>& actions = schedule.emplace_back();
    const int lead = std::min(micro_batches, ranks - 1 - rank);
    for (int i = 0; i < micro_batches + lead; ++i) {
      if (i < micro_batches) actions.push_back({Pass::kForward, rank, i});
      if (i >= lead) actions.push_back({Pass::kBackward, rank, i - lead});
    }
  }
  // END SOLUTION
  return schedule;
}

}  // namespace lockstep::pipeline
