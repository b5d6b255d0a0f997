#include <algorithm>

#include "00_why_many_gpus/4_pipeline_schedule/pipeline_schedule.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"waits_for_the_whole_batch", "a rank begins when the rank before it has finished all micro-batches",
     "That is the plain model split. When has the first micro-batch reached rank 1?"},
    {"does_not_wait", "all ranks begin their forward passes in unit 0", "Rank 1 computes on what rank 0 has computed."},
    {"backward_from_rank_0", "the backward passes go from rank 0 to the last rank, as the forward passes do",
     "Where is the loss? The gradient of a layer needs that of the layer after it."},
    {"backward_takes_one_unit", "a backward pass takes as long as a forward pass",
     "It computes two products for each of the forward pass: kBackwardUnits."},
    {"backward_at_once", "the last rank begins a backward pass as soon as it has the micro-batch's loss",
     "That is a different timetable (1F1B, chapter 11). Here a rank first finishes all of its forward passes."},
    {"barrier_before_backward", "all ranks begin their backward passes one rank later than they could",
     "The last rank can begin in the very unit in which its forward passes end."},
    {"bubble_over_busy_time", "the idle time is divided by the busy time instead of by all of the time",
     "Some papers use that name for (P-1) / M. Here the bubble is a part of the whole, and less than 1."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::plan {
namespace {

using exercise::is_mistake;

// Places tasks one after another on each rank.
class Builder {
 public:
  explicit Builder(int world_size) : free_from_(static_cast<std::size_t>(world_size)) {}

  // When it ends.
  int add(int rank, int micro_batch, Pass pass, int arrival) {
    int& free = free_from_[static_cast<std::size_t>(rank)];
    const int begin = std::max(free, arrival);
    const bool is_short = pass == Pass::kForward || is_mistake("backward_takes_one_unit");
    free = begin + (is_short ? kForwardUnits : kBackwardUnits);
    tasks.push_back({rank, micro_batch, pass, begin, free});
    return free;
  }
  int free_from(int rank) { return free_from_[static_cast<std::size_t>(rank)]; }

  std::vector<Task> tasks;

 private:
  std::vector<int> free_from_;
};

}  // namespace

std::vector<Task> pipeline_schedule(int world_size, int micro_batches) {
  Builder builder(world_size);
  const int last = world_size - 1;
  if (is_mistake("waits_for_the_whole_batch")) {
    for (int rank = 0; rank <= last; ++rank)
      for (int i = 0; i < micro_batches; ++i)
        builder.add(rank, i, Pass::kForward, rank == 0 ? 0 : builder.free_from(rank - 1));
  } else {
    for (int i = 0; i < micro_batches; ++i) {
      int arrival = 0;
      for (int rank = 0; rank <= last; ++rank) {
        const int end = builder.add(rank, i, Pass::kForward, arrival);
        if (!is_mistake("does_not_wait")) arrival = end;
      }
      if (is_mistake("backward_at_once")) builder.add(last, i, Pass::kBackward, 0);
    }
  }
  const bool has_barrier = is_mistake("barrier_before_backward");
  for (int i = 0; i < micro_batches; ++i) {
    int arrival = has_barrier ? builder.free_from(last) + kForwardUnits : 0;
    for (int k = 0; k <= last; ++k) {
      const int rank = is_mistake("backward_from_rank_0") ? k : last - k;
      if (rank == last && is_mistake("backward_at_once")) continue;
      arrival = builder.add(rank, i, Pass::kBackward, arrival);
    }
  }
  return builder.tasks;
}

double bubble(int world_size, int micro_batches) {
  const double idle = world_size - 1;
  return idle / (is_mistake("bubble_over_busy_time") ? micro_batches : micro_batches + world_size - 1);
}

}  // namespace lockstep::plan
