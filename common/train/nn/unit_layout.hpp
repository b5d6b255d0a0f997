#pragma once
/// @file
/// Where parameters lie in a block of memory that is divided evenly among ranks.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tensor/slice.hpp"

namespace lockstep::nn {

/// A *unit* is several parameters as one flat run of elements, which N ranks divide into N equal parts: rank r owns
/// part r. A part begins and ends wherever it does, so a parameter may lie in several parts, and a part may hold
/// several parameters.
///
/// A parameter begins at a multiple of 64 bytes of float32 (a cache line), and the unit ends at one of 64 * N, so that
/// parts do too. The gaps hold zeros.
class UnitLayout {
 public:
  /// @param counts  Elements of each parameter. @param ranks  At least 1.
  UnitLayout(std::span<const std::int64_t> counts, int ranks);

  /// Elements of the unit, with gaps.
  [[nodiscard]] std::int64_t count() const noexcept { return count_; }
  /// Rank `rank`'s elements of the unit.
  [[nodiscard]] Range part_of(int rank) const noexcept;
  /// Parameter `i`'s elements of the unit.
  [[nodiscard]] Range place_of(std::size_t i) const noexcept { return places_[i]; }
  /// The elements of parameter `i`, counted from its own first, that rank `rank` owns. If it owns none, the range is
  /// empty.
  [[nodiscard]] Range own_elements(std::size_t i, int rank) const noexcept;

 private:
  std::vector<Range> places_;
  std::int64_t count_;
  int ranks_;
};

}  // namespace lockstep::nn
