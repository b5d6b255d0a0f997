#pragma once
/// @file
/// Ctrl-C, SIGTERM and SIGHUP, checked between steps.
#include <csignal>
#include <map>

namespace lockstep::run {

/// Why a run should stop.
enum class StopReason {
  kNone,         ///< It should not.
  kInterrupted,  ///< SIGINT or SIGHUP: the run should end.
  kPreempted,    ///< SIGTERM, or the signal of LOCKSTEP_PREEMPT_SIGNAL: it makes room and continues later.
};

/// While it lives, these signals only set a flag, so that a training loop can stop between two steps and save. A second
/// SIGINT (Ctrl-C) ends the process at once; the others may arrive any number of times. Ignored signals stay ignored.
/// At most one at a time. Thread safety: was_received() and reason() from any thread.
class StopSignal {
 public:
  /// @throws FormatError  LOCKSTEP_PREEMPT_SIGNAL is not a signal that may request a stop.
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// True if a signal has arrived. Any thread.
  [[nodiscard]] bool was_received() const noexcept { return reason() != StopReason::kNone; }
  /// The reason for stopping; an interruption overrides a preemption. Any thread.
  [[nodiscard]] StopReason reason() const noexcept;

 private:
  std::map<int, struct sigaction> previous_;  // by signal
};

}  // namespace lockstep::run
