// Computes endlessly and never returns.
#include "02_ring_all_reduce/1_reduce_scatter/reduce_scatter.hpp"

namespace lockstep::ring {

void reduce_scatter(std::span<float> values, const Neighbours& place) {
  volatile bool is_running = true;
  while (is_running) values[0] += static_cast<float>(place.rank);
}

}  // namespace lockstep::ring
