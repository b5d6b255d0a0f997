#pragma once
/// @file
/// Given: the two functions of exercise 09.1 as their callers see them.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/round_up.hpp"
#include "exercise/todo.hpp"

namespace lockstep::sharded {

/// In a unit, every parameter begins at a multiple of this many elements: 64 bytes of float32, one cache line.
inline constexpr std::int64_t kAlignment = 16;

/// The elements [begin, end) of a parameter, counted from its own first.
struct Elements {
  std::int64_t begin = 0;
  std::int64_t end = 0;  ///< Past the last one; equal to `begin` if there are none.

  bool operator==(const Elements&) const = default;
};

/// The length of a unit: several parameters in one flat block of memory, in their order.
///
/// The first parameter begins at element 0, each of the others at the first multiple of kAlignment after the one before
/// it. The unit ends at the first multiple of kAlignment * ranks that holds all of them.
///
/// @param counts  Elements of each parameter, at least 0; at least one parameter. @param ranks  At least 1.
/// @return  Elements of the unit, with the gaps between parameters and the padding after the last.
[[nodiscard]] std::int64_t unit_count(std::span<const std::int64_t> counts, int ranks);

/// The elements of one parameter that a rank owns. The unit is cut into as many equal parts as there are ranks, and
/// rank r owns part r, wherever it begins and ends.
///
/// @param counts  As for unit_count(). @param i     The parameter, an index into `counts`.
/// @param rank    In [0, ranks).       @param ranks  At least 1.
/// @return  In [0, counts[i]]. If the rank owns none of them, an empty range: begin == end.
[[nodiscard]] Elements own_elements(std::span<const std::int64_t> counts, std::size_t i, int rank, int ranks);

}  // namespace lockstep::sharded
