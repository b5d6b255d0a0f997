#pragma once
/// @file
/// Some lanes of a warp that act together: what cooperative groups and block primitives are made of.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <type_traits>

#include "source_place.h"
#include "synchronization.h"
#include "warp.h"

namespace lockstep::emulator {

/// Shuffles a value of any size, 16 bytes at a time.
template <typename T>
T shuffled_bytes(ShuffleKind kind, unsigned mask, T value, unsigned argument, int width, SourcePlace at) {
  static_assert(std::is_trivially_copyable_v<T>, "only types that can be copied as bytes are shuffled");
  constexpr std::size_t kMost = 16;
  auto* const bytes = reinterpret_cast<std::byte*>(&value);
  for (std::size_t offset = 0; offset < sizeof(T); offset += kMost) {
    shuffle(kind, mask, bytes + offset, std::min(kMost, sizeof(T) - offset), argument, width, at);
  }
  return value;
}

/// Lanes of the calling thread's warp. The caller is one of them; each has a rank, in the order of the lanes.
class Lanes {
 public:
  constexpr explicit Lanes(unsigned mask) noexcept : mask_(mask) {}

  [[nodiscard]] constexpr unsigned mask() const noexcept { return mask_; }
  [[nodiscard]] constexpr unsigned count() const noexcept { return static_cast<unsigned>(std::popcount(mask_)); }
  /// The caller's rank.
  [[nodiscard]] unsigned rank() const noexcept {
    return static_cast<unsigned>(std::popcount(mask_ & ((1U << lane_id()) - 1U)));
  }
  /// The lane of a rank below count().
  [[nodiscard]] constexpr unsigned lane(unsigned rank) const noexcept {
    unsigned rest = mask_;
    for (; rank > 0; --rank) rest &= rest - 1;
    return static_cast<unsigned>(std::countr_zero(rest));
  }
  /// Lanes as ranks: bit i is set if the lane of rank i is in `lanes`.
  [[nodiscard]] constexpr unsigned to_ranks(unsigned lanes) const noexcept {
    unsigned ranks = 0, rank = 0;
    for (unsigned rest = mask_; rest != 0; rest &= rest - 1, ++rank) {
      if ((lanes & rest & (~rest + 1U)) != 0) ranks |= 1U << rank;
    }
    return ranks;
  }

  void sync(SourcePlace at) const { sync_warp(mask_, at); }
  /// The value of the lane of that rank; ranks outside give the caller's own.
  template <typename T>
  T value_of(T value, unsigned rank, SourcePlace at) const {
    const unsigned source = rank < count() ? lane(rank) : lane_id();
    return shuffled_bytes(ShuffleKind::kIndex, mask_, value, source, 32, at);
  }
  /// The combination of all values in the order of ranks, in every lane.
  template <typename T, typename Operation>
  T reduce(T value, Operation operation, SourcePlace at) const {
    T all = value_of(value, 0, at);
    for (unsigned other = 1; other < count(); ++other) all = operation(all, value_of(value, other, at));
    return all;
  }
  /// The combination of the values of all ranks up to the caller's.
  template <typename T, typename Operation>
  T inclusive_scan(T value, Operation operation, SourcePlace at) const {
    const unsigned own = rank();
    for (unsigned distance = 1; distance < count(); distance *= 2) {
      const T earlier = value_of(value, own - distance, at);
      if (own >= distance) value = operation(earlier, value);
    }
    return value;
  }

 private:
  unsigned mask_;
};

}  // namespace lockstep::emulator
