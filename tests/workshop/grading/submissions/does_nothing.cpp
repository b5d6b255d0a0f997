// An empty function.
#include "02_ring_all_reduce/1_reduce_scatter/reduce_scatter.hpp"

namespace lockstep::ring {

void reduce_scatter(std::span<float>, const Neighbours&) {}

}  // namespace lockstep::ring
