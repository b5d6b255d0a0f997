#pragma once
/// @file
/// Ctrl-C, SIGTERM and SIGHUP as a question asked between steps.
#include <csignal>
#include <map>

namespace lockstep::run {

/// Why a run is to stop.
enum class StopReason {
  kNone,         ///< It is not.
  kInterrupted,  ///< SIGINT or SIGHUP: somebody does not want it any more.
  kPreempted,    ///< SIGTERM, or the signal of LOCKSTEP_PREEMPT_SIGNAL: it has to make room, and goes on later.
};

/// While it lives, these signals only set a flag, so that a training loop can stop between two steps and save. A second
/// SIGINT (Ctrl-C) ends the process at once; the others may come any number of times. A signal that was ignored before
/// stays ignored. At most one at a time. Thread safety: was_received() and reason() from any thread.
class StopSignal {
 public:
  /// @throws FormatError  LOCKSTEP_PREEMPT_SIGNAL names no signal that may ask for a stop.
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// Whether a signal has come. Any thread.
  [[nodiscard]] bool was_received() const noexcept { return reason() != StopReason::kNone; }
  /// What the signals that have come ask for; of both kinds, an interruption counts. Any thread.
  [[nodiscard]] StopReason reason() const noexcept;

 private:
  std::map<int, struct sigaction> previous_;  // by signal
};

}  // namespace lockstep::run
