#include <algorithm>
#include <vector>

#include "02_ring_all_reduce/2_all_gather/all_gather.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"starts_with_own_number", "each rank begins with the chunk of its own number instead of its finished one",
     "After reduce-scatter rank r has finished chunk r + 1: finished_chunk_of()."},
    {"sends_the_same_chunk",
     "every step sends the rank's finished chunk again, instead of the one that has just arrived",
     "Which chunk has this rank received in the step before? Its next neighbour does not have it yet."},
    {"sends_finished_chunk_only",
     "every step sends the rank's finished chunk, while the places for what arrives change",
     "Which chunk has this rank received in the step before? It goes on: all_gather_sends(rank, step, P)."},
    {"one_step_too_few", "the loop runs one step too few, so each rank lacks one chunk",
     "How many other ranks must a chunk reach, and how many does it reach in a step?"},
    {"one_step_too_many", "the loop runs as often as there are ranks, one step too many",
     "Each rank has one chunk already. How many does it lack?"},
    {"stores_at_the_sent_chunk", "what arrives is written to the place of the chunk that was sent",
     "The chunk that arrives is the one that the previous rank sends in this step: all_gather_receives()."},
    {"sends_backwards", "values go to the previous rank, and come from the next one",
     "exchange(place.next, ..., place.previous, ...): send to the next rank, receive from the previous one."},
    {"adds", "the chunk that arrives is added to this rank's values instead of replacing them",
     "The arriving chunk is finished: it already contains this rank's values."},
    {"equal_chunks", "all chunks are taken to have the same length, so the rest of the buffer never arrives",
     "chunk_of() cuts a count that does not divide by the number of ranks."},
    {"rest_in_last_chunk", "the chunks are cut by hand: the last one gets all that the division leaves",
     "The first chunks get one element more each: take them from chunk_of(), which the caller used, too."},
    {"sends_first", "each rank sends its whole chunk before it receives",
     "Let sending and receiving overlap: exchange()."},
    {"wrong_way_round", "the chunks' numbers grow from step to step, so ranks send chunks they have not received",
     "Compare with ring_steps --world-size 3: which chunk does rank 1 send in the second step of all-gather?"},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::ring {

using exercise::is_mistake;

namespace {

// The chunk that `rank` sends in a step.
int sent_chunk(int rank, int step, int ranks) {
  if (is_mistake("starts_with_own_number")) return reduce_scatter_sends(rank, step, ranks);
  if (is_mistake("sends_the_same_chunk")) return finished_chunk_of(rank, ranks);
  return all_gather_sends(rank, is_mistake("wrong_way_round") ? -step : step, ranks);
}

std::span<float> part_of(std::span<float> values, int index, int ranks) {
  const auto total = static_cast<std::int64_t>(values.size());
  Chunk chunk = chunk_of(total, index, ranks);
  if (is_mistake("equal_chunks")) chunk = {index * (total / ranks), total / ranks};
  if (is_mistake("rest_in_last_chunk"))
    chunk = {index * (total / ranks), index == ranks - 1 ? total - index * (total / ranks) : total / ranks};
  return values.subspan(static_cast<std::size_t>(chunk.begin), static_cast<std::size_t>(chunk.count));
}

}  // namespace

void all_gather(std::span<float> values, const Neighbours& place) {
  const int ranks = place.world_size;
  const int steps = ranks - (is_mistake("one_step_too_few") ? 2 : is_mistake("one_step_too_many") ? 0 : 1);
  for (int step = 0; step < steps; ++step) {
    const int sent_in = is_mistake("sends_finished_chunk_only") ? 0 : step;
    const std::span<float> outgoing = part_of(values, sent_chunk(place.rank, sent_in, ranks), ranks);
    const std::span<float> incoming = part_of(values, sent_chunk(previous_of(place.rank, ranks), step, ranks), ranks);
    std::vector<float> arrived(incoming.size());
    if (is_mistake("sends_first")) {
      place.next.send(outgoing);
      place.previous.receive(std::span<float>(arrived));
    } else if (is_mistake("sends_backwards")) {
      exchange(place.previous, outgoing, place.next, arrived);
    } else {
      exchange(place.next, outgoing, place.previous, arrived);
    }
    if (is_mistake("stores_at_the_sent_chunk")) {
      std::copy_n(arrived.begin(), std::min(arrived.size(), outgoing.size()), outgoing.begin());
      continue;
    }
    for (std::size_t i = 0; i < incoming.size(); ++i)
      incoming[i] = is_mistake("adds") ? incoming[i] + arrived[i] : arrived[i];
  }
}

}  // namespace lockstep::ring
