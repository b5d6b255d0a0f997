#include "02_ring_all_reduce/3_chain_broadcast/chain_broadcast.hpp"

#include <algorithm>

namespace lockstep::ring {

void broadcast(std::span<float> values, int root, std::int64_t segment_count, const Neighbours& place) {
  // SOLUTION(02.3) broadcast: take each segment from the previous rank and pass it on before you wait for the next one
  if (place.world_size == 1) return;
  const bool is_last = next_of(place.rank, place.world_size) == root;
  const auto total = static_cast<std::int64_t>(values.size());
  for (std::int64_t begin = 0; begin < total; begin += segment_count) {
    const std::span<float> segment = values.subspan(begin, std::min(segment_count, total - begin));
    if (place.rank != root) place.previous.receive(segment);
    if (!is_last) place.next.send(segment);
  }
  // END SOLUTION
}

std::int64_t chain_steps(std::int64_t count, std::int64_t segment_count, int world_size) {
  // SOLUTION(02.3) chain_steps: when does the last segment leave the root, and when has it reached the last rank?
  if (count == 0 || world_size == 1) return 0;
  const std::int64_t segments = (count + segment_count - 1) / segment_count;  // rounded up
  return segments + world_size - 2;  // - 2: the chain has world_size - 1 links, and the root's is in `segments`
  // END SOLUTION
}

}  // namespace lockstep::ring
