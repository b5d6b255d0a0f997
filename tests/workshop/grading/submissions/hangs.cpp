// Every rank waits for the one before it.
#include <vector>

#include "02_ring_all_reduce/1_reduce_scatter/reduce_scatter.hpp"

namespace lockstep::ring {

void reduce_scatter(std::span<float> values, const Neighbours& place) {
  std::vector<float> arrived(values.size());
  place.previous.receive(std::span<float>(arrived));
}

}  // namespace lockstep::ring
