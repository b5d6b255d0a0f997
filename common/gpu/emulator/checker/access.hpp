#pragma once
/// @file
/// One recorded access of a kernel's thread, small enough to keep three for every four bytes of memory.
#include <cstdint>
#include <limits>

namespace lockstep::emulator::checker {

/// A period between two points that order all accesses: a launch's begin, a block's begin, a barrier. Numbers increase
/// until the checker starts over, between two launches. 0: none. 1: the host, before any launch.
using Interval = std::uint32_t;

/// The last interval: the number after it marks split cells, and the end of a launch that still runs.
inline constexpr Interval kLastInterval = std::numeric_limits<Interval>::max() - 1;

/// The interval of writes by the host.
inline constexpr Interval kHostInterval = 1;

/// A place in the program: a program counter, or a number below 65536 that Sites assigned to a file and line. 48 bits.
using Site = std::uint64_t;

/// Properties of an access.
enum AccessFlags : std::uint64_t {
  kPlainRead = 0,
  kAtomic = 1U << 10U,        ///< With kWrite: reads and writes.
  kWrite = 1U << 11U,         ///< Stores.
  kPending = 1U << 12U,       ///< An asynchronous copy that has not landed.
  kStoreOnly = 1U << 13U,     ///< An atomic that reads nothing.
  kAnyAlignment = 1U << 14U,  ///< Allowed at every address. Never set for an atomic.
  kReleased = kAnyAlignment,  ///< For an atomic: its thread has called __threadfence() before.
  kUncounted = 1U << 15U,  ///< Not counted as a request in the metrics; a write of shared memory: by no ordinary store.
};

/// One access: thread, time and place.
struct Access {
  Interval interval = 0;     ///< 0: no access.
  std::uint32_t clock = 0;   ///< The thread's clock, as HappensBefore counts it.
  std::uint64_t packed = 0;  ///< Site, flags and thread (bits 48, 6, 10).

  /// @param thread  Rank in its block.
  static Access make(Interval interval, std::uint32_t clock, Site site, std::uint64_t flags, std::uint32_t thread) {
    return {interval, clock, site << 16U | flags | thread};
  }
  /// Rank in its block.
  [[nodiscard]] std::uint32_t thread() const noexcept { return static_cast<std::uint32_t>(packed & 0x3ffU); }
  [[nodiscard]] Site site() const noexcept { return packed >> 16U; }
  /// True if any of `flags` is set.
  [[nodiscard]] bool is(AccessFlags flags) const noexcept { return (packed & flags) != 0; }
};

}  // namespace lockstep::emulator::checker
