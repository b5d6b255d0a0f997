#include <algorithm>
#include <vector>

#include "02_ring_all_reduce/1_reduce_scatter/reduce_scatter.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"sends_the_same_chunk", "every step sends the rank's first chunk again, instead of the one that has just arrived",
     "Which chunk did this rank complete further in the step before? That one goes on."},
    {"sends_own_chunk", "every step sends the chunk of the rank's own number, while the chunks that are added change",
     "In each step a rank sends the chunk that it added to in the step before: reduce_scatter_sends(rank, step, P)."},
    {"adds_to_the_sent_chunk", "what arrives is added to the chunk that was sent, not to the one that it belongs to",
     "What arrives is the chunk reduce_scatter_receives(rank, step, P)."},
    {"receives_over_its_own", "what arrives is received into `values`, where it replaces this rank's own numbers",
     "Receive into a buffer of its own, and add that to `values`."},
    {"whole_buffer", "every step sends the whole buffer, not one chunk",
     "A step moves 1/P of the buffer: one chunk goes out, and another one comes in."},
    {"replaces_instead_of_adds", "the chunk that arrives replaces this rank's values instead of being added to them",
     "A chunk that leaves a rank must hold the sum over all ranks that it has visited."},
    {"one_step_too_few", "the loop runs one step too few", "How many other ranks must a chunk visit?"},
    {"one_step_too_many", "the loop runs as often as there are ranks, one step too many",
     "Before the first step a chunk has visited one rank already. How many are left?"},
    {"buffer_of_the_sent_chunk", "the buffer for what arrives is as long as the chunk that is sent",
     "Chunks differ in length. Which chunk arrives in this step?"},
    {"sends_backwards", "values go to the previous rank, and come from the next one",
     "exchange(place.next, ..., place.previous, ...): send to the next rank, receive from the previous one."},
    {"divides_every_step", "the sum is divided by the number of ranks in every step",
     "A sum is asked for; a mean would divide once, at the end."},
    {"equal_chunks", "all chunks are taken to be as long as the first one, so a remainder is lost or counted twice",
     "chunk_of() cuts a count that does not divide by the number of ranks."},
    {"rest_in_last_chunk", "the chunks are cut by hand: the last one gets all that the division leaves",
     "The first chunks get one element more each: take them from chunk_of(), so that all ranks and their callers "
     "agree."},
    {"sends_first", "each rank sends its whole chunk before it receives",
     "Let sending and receiving overlap: exchange()."},
    {"negative_numbers", "the chunks' numbers are remainders by %, which are negative where rank < step",
     "In C++ -1 % 3 is -1. wrap(x, P) and reduce_scatter_sends() give numbers from 0 to P - 1."},
    {"wrong_way_round", "the chunks' numbers grow from step to step, as if values travelled the other way",
     "Compare with ring_steps --world-size 3: which chunk does rank 1 send in step 2?"},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::ring {

using exercise::is_mistake;

void reduce_scatter(std::span<float> values, const Neighbours& place) {
  const int ranks = place.world_size;
  const auto total = static_cast<std::int64_t>(values.size());
  const int steps = ranks - (is_mistake("one_step_too_few") ? 2 : is_mistake("one_step_too_many") ? 0 : 1);
  const auto chunk = [&](int index) {
    const bool has_rest = is_mistake("rest_in_last_chunk") && index == ranks - 1;
    if (!is_mistake("equal_chunks") && !is_mistake("rest_in_last_chunk")) return chunk_of(total, index, ranks);
    const std::int64_t count = total / ranks;
    return Chunk{index * count, has_rest ? total - index * count : count};
  };
  for (int step = 0; step < steps; ++step) {
    const int signed_step = is_mistake("wrong_way_round") ? -step : step;
    const int sent =
        is_mistake("sends_the_same_chunk") ? place.rank : reduce_scatter_sends(place.rank, signed_step, ranks);
    Chunk outgoing = chunk(is_mistake("sends_own_chunk") ? place.rank : sent);
    Chunk incoming =
        chunk(is_mistake("sends_the_same_chunk") ? previous_of(place.rank, ranks)
                                                 : reduce_scatter_receives(place.rank, signed_step, ranks));
    if (is_mistake("negative_numbers")) {
      outgoing = chunk((place.rank - step) % ranks);
      incoming = chunk((place.rank - step - 1) % ranks);
    }
    if (is_mistake("whole_buffer")) outgoing = incoming = Chunk{0, total};
    std::vector<float> arrived(is_mistake("buffer_of_the_sent_chunk") ? outgoing.count : incoming.count);
    if (is_mistake("sends_first")) {
      place.next.send(values.subspan(outgoing.begin, outgoing.count));
      place.previous.receive(std::span<float>(arrived));
    } else if (is_mistake("sends_backwards")) {
      exchange(place.previous, values.subspan(outgoing.begin, outgoing.count), place.next, arrived);
    } else {
      exchange(place.next, values.subspan(outgoing.begin, outgoing.count), place.previous, arrived);
    }
    if (is_mistake("receives_over_its_own")) std::ranges::copy(arrived, values.begin() + incoming.begin);
    if (is_mistake("adds_to_the_sent_chunk")) incoming = outgoing;
    const auto count = std::min(incoming.count, static_cast<std::int64_t>(arrived.size()));
    for (std::int64_t i = 0; i < count; ++i) {
      float& value = values[incoming.begin + i];
      value = is_mistake("replaces_instead_of_adds") ? arrived[i] : value + arrived[i];
      if (is_mistake("divides_every_step")) value /= static_cast<float>(ranks);
    }
  }
}

}  // namespace lockstep::ring
