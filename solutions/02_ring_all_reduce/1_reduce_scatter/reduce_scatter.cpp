#include "02_ring_all_reduce/1_reduce_scatter/reduce_scatter.hpp"

#include <vector>

namespace lockstep::ring {

void reduce_scatter(std::span<float> values, const Neighbours& place) {
  // SOLUTION(02.1) reduce_scatter: world_size - 1 times, send one chunk, receive another one, and add it to your own
  const auto total = static_cast<std::int64_t>(values.size());
  for (int step = 0; step < place.world_size - 1; ++step) {
    const Chunk outgoing = chunk_of(total, reduce_scatter_sends(place.rank, step, place.world_size), place.world_size);
    const Chunk incoming =
        chunk_of(total, reduce_scatter_receives(place.rank, step, place.world_size), place.world_size);
    std::vector<float> arrived(incoming.count);
    exchange(place.next, values.subspan(outgoing.begin, outgoing.count), place.previous, arrived);
    for (std::int64_t i = 0; i < incoming.count; ++i) values[incoming.begin + i] += arrived[i];
  }
  // END SOLUTION
}

}  // namespace lockstep::ring
