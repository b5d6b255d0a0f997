#include <algorithm>

#include "09_sharded/1_own_elements/own_elements.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"packs_tightly", "parameters lie directly one after another, without gaps",
     "Before the next parameter, round the end of the one before it up to kAlignment."},
    {"aligns_to_64_elements", "parameters begin at multiples of 64 elements, not of 64 bytes",
     "A float32 has 4 bytes: 64 bytes are kAlignment elements."},
    {"pads_for_ranks_only", "the unit's length is a multiple of the number of ranks, but its parts are no whole lines",
     "Round the unit up to kAlignment * ranks, so that each part begins at a multiple of kAlignment."},
    {"last_rank_takes_rest", "the parts are rounded down, and the last rank owns what is left over",
     "All parts are equally long: round the unit's length up before you divide."},
    {"forgets_the_rest", "the parts are rounded down, and nobody owns what is left over",
     "Round the unit's length up to kAlignment * ranks before you divide."},
    {"cuts_each_parameter", "each parameter is cut into equal parts by itself",
     "The unit is cut, not the parameters: a rank may own all of one and nothing of another."},
    {"whole_parameters", "a parameter belongs as a whole to the rank in whose part it begins",
     "A part ends wherever it does: the rest of the parameter is the next rank's."},
    {"counts_from_unit", "elements are counted from the unit's first, not from the parameter's",
     "Subtract the place where the parameter begins from both ends."},
    {"counts_from_part", "elements are counted from the first of the rank's part, not from the parameter's",
     "Subtract the place where the parameter begins, not where the part begins."},
    {"range_turned_round", "if the part and the parameter do not overlap, the range ends before it begins",
     "Clamp both ends into the parameter's place: then the range is empty."},
    {"empty_outside", "an empty range lies outside of the parameter",
     "Callers make a view of the range, so an empty one lies in [0, count] too."},
    {"owns_the_gap", "the gap after a parameter counts as a part of it",
     "The parameter ends at its begin + counts[i]; what follows up to the next one belongs to no parameter."},
    {"last_element_missing", "end is the last element that the rank owns, not the one after it",
     "[begin, end) does not contain end."},
    {"empty_needs_a_line", "a parameter without elements takes a line of its own",
     "round_up(0, kAlignment) is 0: the next parameter begins at the same element."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::sharded {

using exercise::is_mistake;

namespace {

std::int64_t end_after(std::int64_t begin, std::int64_t count) {
  if (is_mistake("packs_tightly")) return begin + count;
  if (is_mistake("aligns_to_64_elements")) return round_up(begin + count, 64);
  if (is_mistake("empty_needs_a_line")) return round_up(begin + std::max<std::int64_t>(count, 1), kAlignment);
  return round_up(begin + count, kAlignment);
}

}  // namespace

std::int64_t unit_count(std::span<const std::int64_t> counts, int ranks) {
  std::int64_t end = 0;
  for (const std::int64_t count : counts) end = end_after(end, count);
  if (is_mistake("last_rank_takes_rest") || is_mistake("forgets_the_rest")) return end;
  return round_up(end, is_mistake("pads_for_ranks_only") ? ranks : kAlignment * ranks);
}

Elements own_elements(std::span<const std::int64_t> counts, std::size_t i, int rank, int ranks) {
  const std::int64_t count = counts[i];
  if (is_mistake("cuts_each_parameter")) {
    const std::int64_t each = (count + ranks - 1) / ranks;
    return {std::min(rank * each, count), std::min((rank + 1) * each, count)};
  }
  std::int64_t place = 0;
  for (const std::int64_t before : counts.first(i)) place = end_after(place, before);
  const std::int64_t whole = unit_count(counts, ranks), part = whole / ranks, part_begin = rank * part;
  std::int64_t part_end = part_begin + part;
  if (is_mistake("last_rank_takes_rest") && rank == ranks - 1) part_end = whole;
  if (is_mistake("whole_parameters")) return {0, place >= part_begin && place < part_end ? count : 0};
  std::int64_t place_end = place + count;
  if (is_mistake("owns_the_gap")) place_end = round_up(place_end, kAlignment);
  std::int64_t begin = std::max(part_begin, place), end = std::min(part_end, place_end);
  if (is_mistake("range_turned_round")) return {begin - place, end - place};
  if (is_mistake("empty_outside")) return {begin - place, std::max(begin, end) - place};
  begin = std::min(begin, place_end);
  end = std::max(end, place);
  if (is_mistake("last_element_missing") && end > begin) --end;
  if (is_mistake("counts_from_unit")) return {begin, end};
  if (is_mistake("counts_from_part")) return {begin - part_begin, end - part_begin};
  return {begin - place, end - place};
}

}  // namespace lockstep::sharded
