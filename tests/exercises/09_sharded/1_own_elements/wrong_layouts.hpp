#pragma once
/// @file
/// What people write in place of the rules of exercise 09.1, and what a rank owns then: the judge compares it with the
/// answers of a learner's functions. Most are from reports about ZeRO and FSDP; each has its own.
#include <algorithm>
#include <cstdint>
#include <span>

#include "09_sharded/1_own_elements/own_elements.hpp"

namespace lockstep::exercise {

/// A division of a unit whose author has made one mistake.
struct WrongLayout {
  enum class Gaps { kRight, kNone, kOf64Elements };
  enum class Padding { kRight, kForRanksOnly, kNone, kEachParameter };
  enum class Owner { kRight, kEachParameter, kWhereItBegins, kLastTakesRest };
  enum class Origin { kParameter, kUnit, kPart };
  enum class Ends { kRight, kBeginMayBeNegative, kNotAtTheEnd, kWithGap, kInclusive };

  const char* what;  ///< Completes "that is what comes out if ".
  Gaps gaps = Gaps::kRight;
  Padding padding = Padding::kRight;
  Owner owner = Owner::kRight;
  Origin origin = Origin::kParameter;
  Ends ends = Ends::kRight;
};

inline constexpr WrongLayout kWrongLayouts[] = {
    {.what = "parameters lie directly one after another", .gaps = WrongLayout::Gaps::kNone},
    {.what = "parameters begin at multiples of 64 elements: 64 bytes are 16 of them",
     .gaps = WrongLayout::Gaps::kOf64Elements},
    {.what = "the unit's length is a multiple of the number of ranks only, not of 16 times as many",
     .padding = WrongLayout::Padding::kForRanksOnly},
    {.what = "the unit has no padding: its parts are rounded down, and nobody owns the rest",
     .padding = WrongLayout::Padding::kNone},
    {.what = "every parameter is padded to a multiple of 16 times the ranks, not the unit",
     .padding = WrongLayout::Padding::kEachParameter},
    {.what = "each parameter is cut into equal parts by itself, not the unit",
     .owner = WrongLayout::Owner::kEachParameter},
    {.what = "a parameter belongs as a whole to the rank in whose part it begins",
     .owner = WrongLayout::Owner::kWhereItBegins},
    {.what = "there is no padding, and the last rank owns what is left over",
     .owner = WrongLayout::Owner::kLastTakesRest},
    {.what = "elements are counted from the unit's first, not from the parameter's",
     .origin = WrongLayout::Origin::kUnit},
    {.what = "elements are counted from the first of the rank's part, not from the parameter's",
     .origin = WrongLayout::Origin::kPart},
    {.what = "a range may begin before the parameter does", .ends = WrongLayout::Ends::kBeginMayBeNegative},
    {.what = "a range may end after the parameter does", .ends = WrongLayout::Ends::kNotAtTheEnd},
    {.what = "the gap after a parameter counts as a part of it", .ends = WrongLayout::Ends::kWithGap},
    {.what = "end is the last element, not the one after it", .ends = WrongLayout::Ends::kInclusive},
};

/// Where a parameter begins by these rules; with i == counts.size(), where the parameters end with the last gap.
[[nodiscard]] inline std::int64_t place_by(const WrongLayout& wrong, std::span<const std::int64_t> counts,
                                           std::size_t i, std::int64_t ranks) {
  std::int64_t multiple = sharded::kAlignment;
  if (wrong.gaps == WrongLayout::Gaps::kNone) multiple = 1;
  if (wrong.gaps == WrongLayout::Gaps::kOf64Elements) multiple = 64;
  if (wrong.padding == WrongLayout::Padding::kEachParameter) multiple *= ranks;
  std::int64_t end = 0;
  for (const std::int64_t count : counts.first(i)) end = round_up(end + count, multiple);
  return end;
}

/// The unit's length by these rules.
[[nodiscard]] inline std::int64_t count_by(const WrongLayout& wrong, std::span<const std::int64_t> counts,
                                           std::int64_t ranks) {
  const std::int64_t end = place_by(wrong, counts, counts.size(), ranks);
  if (wrong.padding == WrongLayout::Padding::kNone || wrong.owner == WrongLayout::Owner::kLastTakesRest) return end;
  return round_up(end, wrong.padding == WrongLayout::Padding::kForRanksOnly ? ranks : ranks * sharded::kAlignment);
}

/// The elements of a parameter that a rank owns by these rules.
[[nodiscard]] inline sharded::Elements own_by(const WrongLayout& wrong, std::span<const std::int64_t> counts,
                                              std::size_t i, std::int64_t rank, std::int64_t ranks) {
  const std::int64_t count = counts[i], place = place_by(wrong, counts, i, ranks);
  if (wrong.owner == WrongLayout::Owner::kEachParameter) {
    const std::int64_t each = (count + ranks - 1) / ranks;
    return {std::min(rank * each, count), std::min((rank + 1) * each, count)};
  }
  const std::int64_t part = count_by(wrong, counts, ranks) / ranks, part_begin = rank * part;
  std::int64_t part_end = part_begin + part;
  if (wrong.owner == WrongLayout::Owner::kLastTakesRest && rank == ranks - 1) part_end = count_by(wrong, counts, ranks);
  if (wrong.owner == WrongLayout::Owner::kWhereItBegins)
    return {0, place >= part_begin && place < part_end ? count : 0};
  std::int64_t place_end = place + count;
  if (wrong.ends == WrongLayout::Ends::kWithGap) place_end = round_up(place_end, sharded::kAlignment);
  std::int64_t begin = std::clamp(part_begin, place, place_end), end = std::clamp(part_end, place, place_end);
  if (wrong.ends == WrongLayout::Ends::kBeginMayBeNegative) begin = std::min(part_begin, place_end);
  if (wrong.ends == WrongLayout::Ends::kNotAtTheEnd) end = std::max(part_end, place);
  if (wrong.ends == WrongLayout::Ends::kInclusive && end > begin) --end;
  if (wrong.origin == WrongLayout::Origin::kUnit) return {begin, end};
  if (wrong.origin == WrongLayout::Origin::kPart) return {begin - part_begin, end - part_begin};
  return {begin - place, end - place};
}

}  // namespace lockstep::exercise
