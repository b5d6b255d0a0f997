#include <vector>

#include "02_ring_all_reduce/5_mean_all_reduce/mean_all_reduce.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"sum_for_mean", "nothing is divided: the result is the sum", "A mean is the sum divided by the number of ranks."},
    {"divides_another_chunk", "the chunk of the rank's own number is divided, and not the finished one",
     "After the first half rank r has finished chunk r + 1: finished_chunk_of()."},
    {"divides_everything_between", "between the two halves every rank divides its whole buffer",
     "Only the finished chunk is a sum. The others will be overwritten."},
    {"divides_everything_at_the_end", "sums are passed on, and at the end every rank divides all elements",
     "Then P ranks do the same divisions. Let the rank that finished a chunk divide it, before it is passed on."},
    {"divides_first", "every rank divides its values before they are added",
     "The smallest numbers become 0 in that way. Divide when the sum is complete."},
    {"divides_every_step", "the sum is divided by the number of ranks in every step of the first half",
     "Only the last of these sums is complete, and only that one is to be divided."},
    {"divides_what_arrives", "in the second half, each rank divides the chunks that arrive",
     "Finished chunks are only copied: the rank that completed one has already divided it."},
    {"divides_twice", "the finished chunk is divided, and at the end everything is divided once more",
     "Each element is divided once, by the rank that finished it."},
    {"first_half_only", "the means are not passed on to the other ranks",
     "After the first half each mean is known to one rank. All-gather copies it to all."},
    {"second_half_adds", "in the second half chunks are added instead of replaced",
     "In the second half a finished mean arrives; your own values are in it already."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::ring {
namespace {

using exercise::is_mistake;

void divide(std::span<float> values, int ranks) {
  for (float& value : values) value /= static_cast<float>(ranks);
}

// One step of either half. @return  What arrived, in a vector of its own.
std::vector<float> step_round(std::span<float> outgoing, std::size_t count, const Neighbours& place) {
  std::vector<float> arrived(count);
  exchange(place.next, outgoing, place.previous, arrived);
  return arrived;
}

}  // namespace

void all_reduce_mean(std::span<float> values, const Neighbours& place) {
  const int rank = place.rank, ranks = place.world_size;
  const auto part = [&](int index) {
    const Chunk chunk = chunk_of(static_cast<std::int64_t>(values.size()), index, ranks);
    return values.subspan(chunk.begin, chunk.count);
  };
  const bool is_early = is_mistake("divides_first");
  if (is_early) divide(values, ranks);
  for (int step = 0; step < ranks - 1; ++step) {
    const std::span<float> sums = part(reduce_scatter_receives(rank, step, ranks));
    const auto arrived = step_round(part(reduce_scatter_sends(rank, step, ranks)), sums.size(), place);
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += arrived[i];
    if (is_mistake("divides_every_step")) divide(sums, ranks);
  }
  const bool is_done = is_early || is_mistake("divides_every_step") || is_mistake("sum_for_mean");
  const bool is_late = is_mistake("divides_everything_at_the_end");
  if (is_mistake("divides_another_chunk")) {
    divide(part(rank), ranks);
  } else if (is_mistake("divides_everything_between")) {
    divide(values, ranks);
  } else if (!is_done && !is_late) {
    divide(part(finished_chunk_of(rank, ranks)), ranks);
  }
  if (is_mistake("first_half_only")) return;
  for (int step = 0; step < ranks - 1; ++step) {
    const std::span<float> means = part(all_gather_receives(rank, step, ranks));
    const auto arrived = step_round(part(all_gather_sends(rank, step, ranks)), means.size(), place);
    for (std::size_t i = 0; i < means.size(); ++i)
      means[i] = is_mistake("second_half_adds") ? means[i] + arrived[i] : arrived[i];
    if (is_mistake("divides_what_arrives")) divide(means, ranks);
  }
  if (is_mistake("divides_twice") || is_late) divide(values, ranks);
}

}  // namespace lockstep::ring
