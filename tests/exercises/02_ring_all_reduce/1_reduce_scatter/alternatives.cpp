#include "exercise/alternatives.hpp"

#include <vector>

#include "02_ring_all_reduce/1_reduce_scatter/reduce_scatter.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"adds_into_the_message",
     "the partial sum is kept in the message that goes round, as in a textbook's picture; only "
     "the finished chunk is written back"},
    {"rank_0_sends_first",
     "send() and receive() in turns instead of exchange(): rank 0 sends first, the others "
     "receive first"},
    {"reduces_a_copy", "the whole reduction happens in a copy of the buffer, with one message buffer for all steps"},
};

// The partial sum of the chunk that passes by lies in `passing`; `values` are only read, up to the last step.
void add_into_the_message(std::span<float> values, const ring::Neighbours& place) {
  const int ranks = place.world_size;
  const auto chunk = [&](int index) {
    const ring::Chunk at = ring::chunk_of(static_cast<std::int64_t>(values.size()), index, ranks);
    return values.subspan(static_cast<std::size_t>(at.begin), static_cast<std::size_t>(at.count));
  };
  const auto own = chunk(place.rank);
  std::vector<float> passing(own.begin(), own.end());
  for (int back = 1; back < ranks; ++back) {
    const auto mine = chunk((place.rank + ranks - back) % ranks);
    std::vector<float> arriving(mine.size());
    exchange(place.next, passing, place.previous, arriving);
    for (std::size_t i = 0; i < mine.size(); ++i) arriving[i] += mine[i];
    passing = std::move(arriving);
  }
  if (ranks == 1) return;
  const auto finished = chunk((place.rank + 1) % ranks);
  for (std::size_t i = 0; i < finished.size(); ++i) finished[i] = passing[i];
}

// A step with two blocking calls. One rank that sends first is enough to set the others going, one after the other.
void step_in_turns(std::span<const float> outgoing, std::span<float> arriving, const ring::Neighbours& place) {
  if (place.rank == 0) place.next.send(outgoing);
  place.previous.receive(arriving);
  if (place.rank != 0) place.next.send(outgoing);
}

void reduce(std::span<float> values, const ring::Neighbours& place, bool is_in_turns) {
  const auto count = static_cast<std::int64_t>(values.size());
  std::vector<float> arriving(values.size() / static_cast<std::size_t>(place.world_size) + 1);
  for (int step = 0; step + 1 < place.world_size; ++step) {
    const ring::Chunk out =
        ring::chunk_of(count, ring::reduce_scatter_sends(place.rank, step, place.world_size), place.world_size);
    const ring::Chunk in =
        ring::chunk_of(count, ring::reduce_scatter_receives(place.rank, step, place.world_size), place.world_size);
    const auto outgoing = values.subspan(static_cast<std::size_t>(out.begin), static_cast<std::size_t>(out.count));
    const auto part = std::span(arriving).first(static_cast<std::size_t>(in.count));
    if (is_in_turns) {
      step_in_turns(outgoing, part, place);
    } else {
      exchange(place.next, outgoing, place.previous, part);
    }
    for (std::size_t i = 0; i < part.size(); ++i) values[static_cast<std::size_t>(in.begin) + i] += part[i];
  }
}

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::ring {

using exercise::is_alternative;

void reduce_scatter(std::span<float> values, const Neighbours& place) {
  if (is_alternative("adds_into_the_message")) return exercise::add_into_the_message(values, place);
  if (is_alternative("rank_0_sends_first")) return exercise::reduce(values, place, true);
  std::vector<float> copy(values.begin(), values.end());
  exercise::reduce(copy, place, false);
  std::copy(copy.begin(), copy.end(), values.begin());
}

}  // namespace lockstep::ring
