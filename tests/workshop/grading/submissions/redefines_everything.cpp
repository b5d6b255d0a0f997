// Redefines the keywords used by the headers that it includes.
#define private public
#define const
#define float double
#define lockstep mine
#define int long
#include "02_ring_all_reduce/1_reduce_scatter/reduce_scatter.hpp"

namespace lockstep::ring {

void reduce_scatter(std::span<float> values, const Neighbours& place) {}

}  // namespace lockstep::ring
