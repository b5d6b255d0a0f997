#pragma once
/// @file
/// Messages between the launcher and its reaper (`lockstep_reaper`, see reaper_main.cpp).
///
/// The reaper is the parent of the ranks of one host. It is started with
///
///     lockstep_reaper LOCAL_WORLD_SIZE FIRST_RANK PROGRAM [ARGUMENTS...]
///
/// the environment that all ranks share, and descriptors by convention: one end of a SOCK_SEQPACKET pair for messages,
/// then for each rank the write ends of its output pipes. The program forks once: the child is the reaper, the parent
/// its guardian, which takes over if the reaper is killed. Both hold that end of the pair. When the launcher stops
/// writing to it, by shutdown(2), by closing it or by being killed, both kill every process below them.
#include <cstdint>

namespace lockstep::launch {

/// Descriptor of the reaper's end of the socket pair.
inline constexpr int kControlFd = 3;
/// Descriptor of a rank's standard output; the one after it is that rank's standard error.
constexpr int output_fd(int local_rank) noexcept { return kControlFd + 1 + 2 * local_rank; }

/// Launcher to reaper, one packet each.
enum class ReaperCommand : std::uint8_t {
  kTerminate = 'T',  ///< SIGTERM to the process group of each running rank; only the first one counts.
};

/// Reaper or guardian to launcher, one packet each.
struct ReaperEvent {
  /// Values appear on the wire; never renumber.
  enum class Kind : std::int32_t {
    kStarted = 1,       ///< detail: the rank's process id.
    kStartFailed = 2,   ///< detail: errno of fork or exec.
    kEnded = 3,         ///< detail: the status from waitpid().
    kSignalled = 4,     ///< Reaper or guardian was asked to end; detail: the signal. The reaper has forwarded its own.
    kWatcherEnded = 5,  ///< Reaper or guardian was killed; the other one kills every process of the job.
  };
  Kind kind = Kind::kStarted;
  std::int32_t local_rank = 0;  ///< The rank on this host; 0 if none is concerned.
  std::int32_t detail = 0;      ///< Process id, wait status, errno or signal, by kind.
};

}  // namespace lockstep::launch
