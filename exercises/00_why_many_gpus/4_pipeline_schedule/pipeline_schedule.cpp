#include "00_why_many_gpus/4_pipeline_schedule/pipeline_schedule.hpp"

#include <algorithm>

namespace lockstep::plan {

std::vector<Task> pipeline_schedule(int world_size, int micro_batches) {
  std::vector<Task> tasks;
  // TODO(00.4): take all micro-batches through the ranks 0 to P - 1, then back again
  lockstep::todo("00.4 pipeline_schedule");
  return tasks;
}

double bubble(int world_size, int micro_batches) {
  // TODO(00.4): idle units of all ranks, divided by all their units
  lockstep::todo("00.4 bubble");
}

}  // namespace lockstep::plan
