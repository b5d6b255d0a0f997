#pragma once
/// @file
/// Ctrl-C and SIGTERM as a question asked between steps.
#include <csignal>

namespace lockstep::run {

/// While it lives, the first SIGINT or SIGTERM only sets a flag, so that a training loop can stop between two steps;
/// the second one ends the process at once. At most one at a time. Thread safety: was_received() from any thread.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// Whether the signal has come. Any thread.
  [[nodiscard]] bool was_received() const noexcept;

 private:
  struct sigaction previous_interrupt_ {};
  struct sigaction previous_terminate_ {};
};

}  // namespace lockstep::run
