// Correct, and not our solution: one vector for all steps, and chunks as spans.
#include <algorithm>
#include <functional>
#include <vector>

#include "02_ring_all_reduce/1_reduce_scatter/reduce_scatter.hpp"

namespace lockstep::ring {

void reduce_scatter(std::span<float> values, const Neighbours& place) {
  const int ranks = place.world_size;
  const auto chunk = [&](int index) {
    const Chunk found = chunk_of(static_cast<std::int64_t>(values.size()), index, ranks);
    return values.subspan(found.begin, found.count);
  };
  std::vector<float> room(values.size());
  for (int step = 1; step < ranks; ++step) {
    const auto mine = chunk(reduce_scatter_receives(place.rank, step - 1, ranks));
    const auto partial = std::span(room).first(mine.size());
    exchange(place.next, chunk(reduce_scatter_sends(place.rank, step - 1, ranks)), place.previous, partial);
    std::ranges::transform(mine, partial, mine.begin(), std::plus<>());
  }
}

}  // namespace lockstep::ring
