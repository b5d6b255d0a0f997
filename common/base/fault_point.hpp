#pragma once
/// @file
/// Places in the code at which a fault can be injected. If none is armed, a place costs one load.
#include <atomic>
#include <cstddef>

namespace lockstep::fault {

/// Kinds of faults.
enum class Kind : unsigned {
  kKill,
  kStop,         ///< The process gets SIGSTOP: it stays, but does nothing.
  kSlow,         ///< Steps take longer.
  kDrop,         ///< A connection to a peer is closed.
  kCorrupt,      ///< A message's payload is changed on its way.
  kDiskFull,     ///< Writing a checkpoint fails with ENOSPC.
  kNan,          ///< A parameter's gradient is NaN.
  kOutOfMemory,  ///< Memory for a tensor cannot be allocated.
  kBatch,        ///< The rank reads other samples in one step.
};

inline constexpr std::size_t kKindCount = 9;

/// Stands for whichever peer comes first.
inline constexpr int kAnyPeer = -1;

/// The armed faults of this process. Internal to this module. Global because a process is one rank: memory and files
/// have no other owner to ask.
struct Armed {
  std::atomic<unsigned> kinds{0};  ///< A bit for each kind.
  std::atomic<int> drop_peer{kAnyPeer};
  std::atomic<int> corrupt_peer{kAnyPeer};
};

inline constinit Armed armed_faults{};

[[nodiscard]] constexpr unsigned bit_of(Kind kind) noexcept { return 1U << static_cast<unsigned>(kind); }

/// Arms a fault: the next take() of this kind finds it. Any thread.
/// @param kind  kDrop or a later one. @param peer  Of kDrop and kCorrupt: a rank of the job, or kAnyPeer.
inline void arm(Kind kind, int peer = kAnyPeer) noexcept {
  if (kind == Kind::kDrop) armed_faults.drop_peer = peer;
  if (kind == Kind::kCorrupt) armed_faults.corrupt_peer = peer;
  armed_faults.kinds.fetch_or(bit_of(kind));
}

/// Whether a fault of this kind is armed and has not happened. Any thread.
[[nodiscard]] inline bool is_armed(Kind kind) noexcept {
  return (armed_faults.kinds.load(std::memory_order_relaxed) & bit_of(kind)) != 0;
}

/// Whether the fault should happen here and now; each armed fault happens once. Any thread.
[[nodiscard]] inline bool take(Kind kind) noexcept {
  return is_armed(kind) && (armed_faults.kinds.fetch_and(~bit_of(kind)) & bit_of(kind)) != 0;
}

/// The same for a fault between this rank and another one.
/// @param kind  kDrop or kCorrupt. @param peer  A rank of the job.
[[nodiscard]] inline bool take(Kind kind, int peer) noexcept {
  if (!is_armed(kind)) return false;
  const int wanted = kind == Kind::kDrop ? armed_faults.drop_peer : armed_faults.corrupt_peer;
  return (wanted == kAnyPeer || wanted == peer) && take(kind);
}

}  // namespace lockstep::fault
