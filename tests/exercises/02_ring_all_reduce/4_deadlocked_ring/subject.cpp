#include "exercise/subject.hpp"

#include "02_ring_all_reduce/4_deadlocked_ring/deadlocked_ring.hpp"
#include "base/error.hpp"

namespace lockstep::exercise {

namespace {

// With a dead rank in the circle: whether the message of the previous rank has arrived, up to its last value. All else
// that a rank did until it failed depends on who was faster.
Answer shift_beside_the_dead(Question& question, std::span<const float> outgoing, std::vector<float> incoming,
                             const ring::OneWayNeighbours& place) {
  const float before = incoming.back();
  try {
    ring::shift(outgoing, incoming, place);
  } catch (const IoError&) {  // a neighbour has gone
  }
  question.progress().bytes_sent = 0;
  Answer result;
  result.set("has_arrived", incoming.back() != before);
  return result;
}

}  // namespace

Answer answer(Question& question) {
  const int rank = question.rank(), world_size = question.world_size(), dead = question.get<int>("dead");
  Answer result;
  if (rank == dead) return result;  // its connections close
  const std::vector<float> outgoing = question.numbers<float>("outgoing");
  std::vector<float> incoming = question.numbers<float>("incoming");
  Link none(UniqueFd(), -1, nullptr);
  Link& next = world_size == 1 ? none : question.link((rank + 1) % world_size);
  Link& previous = world_size == 1 ? none : question.link((rank + world_size - 1) % world_size);
  const ring::OneWayNeighbours place{rank, world_size, ring::Outgoing(next), ring::Incoming(previous)};
  if (dead >= 0) return shift_beside_the_dead(question, outgoing, std::move(incoming), place);
  ring::shift(outgoing, incoming, place);
  result.set_numbers<float>("incoming", incoming);
  return result;
}

}  // namespace lockstep::exercise
