#pragma once
/// @file
/// Places in the code where a fault can be made to happen on purpose. Where none is armed, a place costs one load.
#include <atomic>
#include <cstddef>

namespace lockstep::fault {

/// What can be made to go wrong with a rank.
enum class Kind : unsigned {
  kKill,         ///< The process gets SIGKILL.
  kStop,         ///< The process gets SIGSTOP: it stays, and does nothing.
  kSlow,         ///< Steps take longer.
  kDrop,         ///< A connection to a peer is closed.
  kCorrupt,      ///< A message's payload arrives with another content than was sent.
  kDiskFull,     ///< Writing a checkpoint fails with ENOSPC.
  kNan,          ///< A parameter's gradient is not a number.
  kOutOfMemory,  ///< Memory for a tensor is not to be had.
};

/// How many there are.
inline constexpr std::size_t kKindCount = 8;

/// A peer that means whichever comes first.
inline constexpr int kAnyPeer = -1;

/// The armed faults of this process; not for others. A process is one rank: memory and files have no other owner that
/// could be asked.
struct Armed {
  std::atomic<unsigned> kinds{0};           ///< A bit for each kind.
  std::atomic<int> drop_peer{kAnyPeer};     ///< Of kDrop.
  std::atomic<int> corrupt_peer{kAnyPeer};  ///< Of kCorrupt.
};

/// That of this process.
inline constinit Armed armed_faults{};

/// The bit of a kind. @param kind  Any.
[[nodiscard]] constexpr unsigned bit_of(Kind kind) noexcept { return 1U << static_cast<unsigned>(kind); }

/// From now on the next take() of this kind finds a fault. Any thread.
/// @param kind  kDrop or a later one. @param peer  Of kDrop and kCorrupt: a rank of the job, or kAnyPeer.
inline void arm(Kind kind, int peer = kAnyPeer) noexcept {
  if (kind == Kind::kDrop) armed_faults.drop_peer = peer;
  if (kind == Kind::kCorrupt) armed_faults.corrupt_peer = peer;
  armed_faults.kinds.fetch_or(bit_of(kind));
}

/// Whether a fault of this kind waits for its place. Any thread.
[[nodiscard]] inline bool is_armed(Kind kind) noexcept {
  return (armed_faults.kinds.load(std::memory_order_relaxed) & bit_of(kind)) != 0;
}

/// Whether the fault is to happen here and now; each that was armed happens once. Any thread.
[[nodiscard]] inline bool take(Kind kind) noexcept {
  return is_armed(kind) && (armed_faults.kinds.fetch_and(~bit_of(kind)) & bit_of(kind)) != 0;
}

/// The same of what happens between this rank and another one.
/// @param kind  kDrop or kCorrupt. @param peer  A rank of the job.
[[nodiscard]] inline bool take(Kind kind, int peer) noexcept {
  if (!is_armed(kind)) return false;
  const int wanted = kind == Kind::kDrop ? armed_faults.drop_peer : armed_faults.corrupt_peer;
  return (wanted == kAnyPeer || wanted == peer) && take(kind);
}

}  // namespace lockstep::fault
