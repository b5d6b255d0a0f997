#include <algorithm>

#include "02_ring_all_reduce/4_deadlocked_ring/deadlocked_ring.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"all_send_first", "every rank sends before it receives",
     "Large messages need a receiver at once. Which ranks could receive first?"},
    {"all_receive_first", "every rank receives before it sends",
     "Now nobody has sent anything. Some ranks must send first, and others receive first."},
    {"one_breaks_the_circle", "a single rank receives first, and all others send first",
     "It no longer hangs, but one message waits for the other. Let every second rank receive first."},
    {"small_messages_as_before",
     "small messages are still sent first by all ranks, and only large ones in the new order",
     "How much a buffer holds depends on the machine. Use one order for all sizes."},
    {"lower_half_first", "the lower half of the ranks sends first, and the upper half receives first",
     "In each half the ranks still wait for one another. Neighbours should differ: use the rank's parity."},
    {"parity_of_the_group", "the number of ranks decides who sends first, so all ranks do the same",
     "rank % 2 differs between neighbours; world_size % 2 is the same everywhere."},
    {"passes_on_what_arrives", "a rank that receives first sends what has arrived, not its own values",
     "The next rank gets `outgoing`, whatever has arrived before."},
    {"sends_in_pieces", "the message is cut into pieces that fit into the kernel's buffers",
     "That needs buffers which nobody has promised. Send one message, and change the order instead."},
    {"half_of_the_messages", "every second rank only sends, and the others only receive",
     "Each rank does both: what it did not do first, it does afterwards."},
    {"left_out_if_odd", "with an odd number of ranks, the last one neither sends nor receives",
     "Follow rank 0 and the last rank: both send first, and it works all the same. Why?"},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::ring {
namespace {

using exercise::is_mistake;

bool sends_first(int rank, int world_size) {
  if (is_mistake("lower_half_first")) return rank < world_size / 2;
  if (is_mistake("parity_of_the_group")) return world_size % 2 == 0;
  if (is_mistake("all_send_first")) return true;
  if (is_mistake("all_receive_first")) return false;
  if (is_mistake("one_breaks_the_circle")) return rank != 0;
  return rank % 2 == 0;
}

void shift_in_pieces(std::span<const float> outgoing, std::span<float> incoming, const OneWayNeighbours& place) {
  constexpr std::size_t kPiece = 256;
  for (std::size_t begin = 0; begin < outgoing.size(); begin += kPiece) {
    const std::size_t count = std::min(kPiece, outgoing.size() - begin);
    place.next.send(outgoing.subspan(begin, count));
    place.previous.receive(incoming.subspan(begin, count));
  }
}

}  // namespace

void shift(std::span<const float> outgoing, std::span<float> incoming, const OneWayNeighbours& place) {
  if (place.world_size == 1) {
    std::ranges::copy(outgoing, incoming.begin());
    return;
  }
  if (is_mistake("sends_in_pieces")) return shift_in_pieces(outgoing, incoming, place);
  if (is_mistake("left_out_if_odd") && place.world_size % 2 == 1 && place.rank == place.world_size - 1) return;
  const bool does_half = is_mistake("half_of_the_messages");
  const bool is_small = is_mistake("small_messages_as_before") && outgoing.size() <= 4096;
  if (is_small || sends_first(place.rank, place.world_size)) {
    place.next.send(outgoing);
    if (!does_half) place.previous.receive(incoming);
  } else {
    place.previous.receive(incoming);
    if (is_mistake("passes_on_what_arrives")) return place.next.send(incoming);
    if (!does_half) place.next.send(outgoing);
  }
}

}  // namespace lockstep::ring
