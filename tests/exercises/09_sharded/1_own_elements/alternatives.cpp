#include "exercise/alternatives.hpp"

#include <algorithm>

#include "09_sharded/1_own_elements/own_elements.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"counts_cache_lines", "everything is counted in cache lines, and an empty range is [0, 0)"},
    {"asks_for_the_owner", "the first element of this rank and the first of a later one are searched for by bisection"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::sharded {

using exercise::is_alternative;

namespace {

std::int64_t lines_of(std::int64_t count) { return count / kAlignment + (count % kAlignment == 0 ? 0 : 1); }

std::int64_t lines_of(std::span<const std::int64_t> counts) {
  std::int64_t lines = 0;
  for (const std::int64_t count : counts) lines += lines_of(count);
  return lines;
}

std::int64_t lines_of_part(std::span<const std::int64_t> counts, int ranks) {
  return (lines_of(counts) + ranks - 1) / ranks;
}

// The first element of [0, count] whose owner is `rank` or a later one.
std::int64_t first_of(int rank, std::int64_t place, std::int64_t part, std::int64_t count) {
  std::int64_t low = 0, high = count;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if ((place + middle) / part >= rank) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace

std::int64_t unit_count(std::span<const std::int64_t> counts, int ranks) {
  return lines_of_part(counts, ranks) * ranks * kAlignment;
}

Elements own_elements(std::span<const std::int64_t> counts, std::size_t i, int rank, int ranks) {
  const std::int64_t place = lines_of(counts.first(i)) * kAlignment;
  const std::int64_t part = lines_of_part(counts, ranks) * kAlignment;
  if (is_alternative("asks_for_the_owner"))
    return {first_of(rank, place, part, counts[i]), first_of(rank + 1, place, part, counts[i])};
  const std::int64_t begin = std::max<std::int64_t>(0, rank * part - place);
  const std::int64_t end = std::min(counts[i], (rank + 1) * part - place);
  if (begin >= end) return {};
  return {begin, end};
}

}  // namespace lockstep::sharded
