#include "00_why_many_gpus/4_pipeline_schedule/pipeline_schedule.hpp"

#include <algorithm>

namespace lockstep::plan {

std::vector<Task> pipeline_schedule(int world_size, int micro_batches) {
  std::vector<Task> tasks;
  // SOLUTION(00.4) pipeline_schedule: take all micro-batches through the ranks 0 to P - 1, then back again
  std::vector<int> free_from(static_cast<std::size_t>(world_size));  // by rank
  const auto add = [&](int rank, int micro_batch, Pass pass, int arrival) {
    int& free = free_from[static_cast<std::size_t>(rank)];
    const int begin = std::max(free, arrival);
    free = begin + (pass == Pass::kForward ? kForwardUnits : kBackwardUnits);
    tasks.push_back({rank, micro_batch, pass, begin, free});
    return free;
  };
  for (int micro_batch = 0; micro_batch < micro_batches; ++micro_batch) {
    int arrival = 0;
    for (int rank = 0; rank < world_size; ++rank) arrival = add(rank, micro_batch, Pass::kForward, arrival);
  }
  for (int micro_batch = 0; micro_batch < micro_batches; ++micro_batch) {
    int arrival = 0;
    for (int rank = world_size - 1; rank >= 0; --rank) arrival = add(rank, micro_batch, Pass::kBackward, arrival);
  }
  // END SOLUTION
  return tasks;
}

double bubble(int world_size, int micro_batches) {
  // SOLUTION(00.4) bubble: idle units of all ranks, divided by all their units
  // Each rank computes for M times 3 units. The first micro-batch needs P - 1 times 3 more to pass the other ranks.
  return static_cast<double>(world_size - 1) / (micro_batches + world_size - 1);
  // END SOLUTION
}

}  // namespace lockstep::plan
