#include "exercise/alternatives.hpp"

#include <algorithm>

#include "00_why_many_gpus/4_pipeline_schedule/pipeline_schedule.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"closed_form", "begins are computed from the numbers of rank and micro-batch, and the tasks come rank by rank"},
    {"last_micro_batch_first", "the backward passes begin with the last micro-batch"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::plan {

using exercise::is_alternative;

std::vector<Task> pipeline_schedule(int world_size, int micro_batches) {
  // Forward m of rank r begins in unit m + r; the backward passes are the same picture in the mirror, twice as wide.
  const int turn = micro_batches + world_size - 1;
  std::vector<Task> tasks;
  for (int rank = world_size - 1; rank >= 0; --rank) {
    for (int k = 0; k < micro_batches; ++k) {
      const int forward = k + rank, backward = turn + kBackwardUnits * (k + world_size - 1 - rank);
      const int micro_batch = is_alternative("last_micro_batch_first") ? micro_batches - 1 - k : k;
      tasks.push_back({rank, micro_batch, Pass::kBackward, backward, backward + kBackwardUnits});
      tasks.push_back({rank, k, Pass::kForward, forward, forward + kForwardUnits});
    }
  }
  if (is_alternative("last_micro_batch_first")) std::ranges::reverse(tasks);
  return tasks;
}

double bubble(int world_size, int micro_batches) {
  const double busy = micro_batches * (kForwardUnits + kBackwardUnits);
  const double all = (micro_batches + world_size - 1) * (kForwardUnits + kBackwardUnits);
  return 1 - busy / all;
}

}  // namespace lockstep::plan
