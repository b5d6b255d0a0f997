#include "00_why_many_gpus/3_crossover/crossover.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"nothing_for_one_rank", "nothing is returned for one rank",
     "One rank sends nothing, so no algorithm takes any time. Is the ring then slower than the other one?"},
    {"zero_for_never", "0 is returned where the ring is always slower",
     "0 says that the ring wins at every size. If it never does, there is nothing to return."},
    {"infinite_size", "the two lines are parallel, and the result is infinite",
     "If the ring saves no bytes, no size makes up for its latencies: return std::nullopt."},
    {"alpha_times_beta", "the result is alpha * beta, whatever the number of ranks",
     "That is the size at which half of a message's time is latency. How many steps does each algorithm have?"},
    {"bytes_of_a_chunk", "the result is the size of one chunk instead of the size of the buffer",
     "A chunk is 1/P of the buffer. Which of the two does the caller ask about?"},
    {"bytes_per_step_only", "the bytes of one step are compared instead of those of all steps",
     "bytes_per_step belongs to one step. How many steps are there?"},
    {"one_way_bytes",
     "the bytes of one direction are compared, although in a star and in a tree a rank first receives "
     "and then sends",
     "one_way_bytes counts one of the two directions. Which steps come one after the other?"},
    {"half_of_the_ring", "the ring's second half is missing", "The sum must also return to all ranks."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::plan {

using exercise::is_mistake;

std::optional<double> ring_crossover(Algorithm other, int world_size, const Link& link) {
  AllReduceCost ring = all_reduce_cost(Algorithm::kRing, world_size, 1);
  const AllReduceCost rival = all_reduce_cost(other, world_size, 1);
  if (is_mistake("half_of_the_ring")) ring.steps /= 2;
  const double latencies = ring.steps - rival.steps;
  const bool is_per_step = is_mistake("bytes_per_step_only");
  double bytes = is_per_step ? rival.bytes_per_step - ring.bytes_per_step
                             : rival.steps * rival.bytes_per_step - ring.steps * ring.bytes_per_step;
  if (is_mistake("one_way_bytes")) bytes = rival.one_way_bytes - ring.one_way_bytes;
  const double half_latency_bytes = link.half_latency_bytes();
  if (latencies <= 0 && (bytes > 0 || !is_mistake("nothing_for_one_rank"))) return 0;
  if (bytes <= 0 && is_mistake("zero_for_never")) return 0;
  if (bytes <= 0 && !is_mistake("infinite_size")) return std::nullopt;
  if (is_mistake("alpha_times_beta")) return half_latency_bytes;
  return latencies / bytes * half_latency_bytes / (is_mistake("bytes_of_a_chunk") ? world_size : 1);
}

}  // namespace lockstep::plan
