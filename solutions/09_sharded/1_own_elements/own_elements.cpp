#include "09_sharded/1_own_elements/own_elements.hpp"

#include <algorithm>

namespace lockstep::sharded {

std::int64_t unit_count(std::span<const std::int64_t> counts, int ranks) {
  // SOLUTION(09.1) unit_count: add up the parameters and the gaps between them, then the padding
  std::int64_t end = 0;
  for (const std::int64_t count : counts) end = round_up(end + count, kAlignment);
  return round_up(end, kAlignment * ranks);
  // END SOLUTION
}

Elements own_elements(std::span<const std::int64_t> counts, std::size_t i, int rank, int ranks) {
  // SOLUTION(09.1) own_elements: where the parameter's place and the rank's part overlap
  std::int64_t place_begin = 0;
  for (const std::int64_t before : counts.first(i)) place_begin = round_up(place_begin + before, kAlignment);
  const std::int64_t place_end = place_begin + counts[i];
  const std::int64_t part = unit_count(counts, ranks) / ranks;
  // If they do not overlap, both ends are moved to the same end of the place.
  const std::int64_t begin = std::clamp(rank * part, place_begin, place_end);
  const std::int64_t end = std::clamp((rank + 1) * part, place_begin, place_end);
  return {begin - place_begin, end - place_begin};
  // END SOLUTION
}

}  // namespace lockstep::sharded
