#include "02_ring_all_reduce/3_chain_broadcast/chain_broadcast.hpp"

#include <algorithm>

namespace lockstep::ring {

void broadcast(std::span<float> values, int root, std::int64_t segment_count, const Neighbours& place) {
  // TODO(02.3): take each segment from the previous rank and pass it on before you wait for the next one
  lockstep::todo("02.3 broadcast");
}

std::int64_t chain_steps(std::int64_t count, std::int64_t segment_count, int world_size) {
  // TODO(02.3): when does the last segment leave the root, and when has it reached the last rank?
  lockstep::todo("02.3 chain_steps");
}

}  // namespace lockstep::ring
