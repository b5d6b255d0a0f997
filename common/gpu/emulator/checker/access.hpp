#pragma once
/// @file
/// One recorded access of a kernel's thread, small enough to keep three of them for every four bytes of memory.
#include <cstdint>

namespace lockstep::emulator::checker {

/// A stretch of the run between two points that order everything: a launch's begin, a block's begin, a barrier.
/// Numbers grow all through the process. 0: never happened. 1: the host, before any launch.
using Interval = std::uint32_t;

/// The interval of what the host wrote.
inline constexpr Interval kHostInterval = 1;

/// Where in the program: a program counter, or a number below 65536 that Sites gave to a file and line. 48 bits.
using Site = std::uint64_t;

/// What an access was.
enum AccessFlags : std::uint64_t {
  kPlainRead = 0,
  kAtomic = 1U << 10U,        ///< Together with kWrite: reads and writes.
  kWrite = 1U << 11U,         ///< Stores.
  kPending = 1U << 12U,       ///< An asynchronous copy that has not landed.
  kStoreOnly = 1U << 13U,     ///< An atomic that reads nothing.
  kAnyAlignment = 1U << 14U,  ///< Right at every address. Never of an atomic.
  kReleased = kAnyAlignment,  ///< Of an atomic: its thread has made a __threadfence() before it.
  kUncounted = 1U << 15U,     ///< No request of its own in the metrics.
};

/// Who accessed, when, from where.
struct Access {
  Interval interval = 0;     ///< 0: there was none.
  std::uint32_t clock = 0;   ///< The thread's own, as HappensBefore counts it.
  std::uint64_t packed = 0;  ///< Site, flags and thread (bits 48, 6, 10).

  /// By a thread (rank in its block).
  static Access make(Interval interval, std::uint32_t clock, Site site, std::uint64_t flags, std::uint32_t thread) {
    return {interval, clock, site << 16U | flags | thread};
  }
  /// Rank in its block.
  [[nodiscard]] std::uint32_t thread() const noexcept { return static_cast<std::uint32_t>(packed & 0x3ffU); }
  /// Where.
  [[nodiscard]] Site site() const noexcept { return packed >> 16U; }
  /// Any of `flags`.
  [[nodiscard]] bool is(AccessFlags flags) const noexcept { return (packed & flags) != 0; }
};

}  // namespace lockstep::emulator::checker
