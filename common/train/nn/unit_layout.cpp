#include "nn/unit_layout.hpp"

#include <algorithm>

#include "base/round_up.hpp"

namespace lockstep::nn {

constexpr std::int64_t kLine = 16;  // float32 in 64 bytes

UnitLayout::UnitLayout(std::span<const std::int64_t> counts, int ranks) : ranks_(ranks) {
  std::int64_t end = 0;
  for (const std::int64_t count : counts) {
    places_.push_back({end, end + count});
    end = round_up(end + count, kLine);
  }
  count_ = round_up(end, kLine * ranks);
}

Range UnitLayout::part_of(int rank) const noexcept {
  const std::int64_t size = count_ / ranks_;
  return {rank * size, (rank + 1) * size};
}

Range UnitLayout::own_elements(std::size_t i, int rank) const noexcept {
  const Range place = places_[i], part = part_of(rank);
  const std::int64_t begin = std::clamp(part.begin, place.begin, place.end);
  const std::int64_t end = std::clamp(part.end, place.begin, place.end);
  return {begin - place.begin, end - place.begin};
}

}  // namespace lockstep::nn
