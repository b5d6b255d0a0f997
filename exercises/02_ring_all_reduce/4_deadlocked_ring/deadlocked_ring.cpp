#include "02_ring_all_reduce/4_deadlocked_ring/deadlocked_ring.hpp"

#include <algorithm>

namespace lockstep::ring {

void shift(std::span<const float> outgoing, std::span<float> incoming, const OneWayNeighbours& place) {
  if (place.world_size == 1) {
    std::ranges::copy(outgoing, incoming.begin());
    return;
  }
  // TODO(02.4): choose an order of these two calls for each rank, so that no rank waits forever
  place.next.send(outgoing);
  place.previous.receive(incoming);
}

}  // namespace lockstep::ring
