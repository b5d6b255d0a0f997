// A source of its own: exercise 11.1 asks for it.
#include <algorithm>

#include "11_pipeline_parallel/schedules/schedule.hpp"
#include "base/error.hpp"

namespace lockstep::pipeline {
namespace {

// The last rank has its first gradient right after its first forward pass. A rank before it waits longer, because its
// micro-batch passes the ranks after it twice. Meanwhile it takes one more micro-batch for each of them.
std::vector<Action> actions_of(int rank, int ranks, int micro_batches) {
  const int lead = std::min(micro_batches, ranks - 1 - rank);
  std::vector<Action> actions;
  for (int i = 0; i < lead; ++i) actions.push_back({Pass::kForward, rank, i});
  for (int i = lead; i < micro_batches; ++i) {
    actions.push_back({Pass::kForward, rank, i});
    actions.push_back({Pass::kBackward, rank, i - lead});
  }
  for (int i = micro_batches - lead; i < micro_batches; ++i) actions.push_back({Pass::kBackward, rank, i});
  return actions;
}

}  // namespace

Schedule one_forward_one_backward(int ranks, int micro_batches) {
  require(ranks >= 1 && micro_batches >= 1, "a schedule needs ranks and micro-batches, not ", ranks, " and ",
          micro_batches);
  Schedule schedule;
  for (int rank = 0; rank < ranks; ++rank) schedule.push_back(actions_of(rank, ranks, micro_batches));
  return schedule;
}

}  // namespace lockstep::pipeline
