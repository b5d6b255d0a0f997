#pragma once
/// @file
/// Ctrl-C, SIGTERM and SIGHUP as a question asked between steps.
#include <array>
#include <csignal>

namespace lockstep::run {

/// While it lives, SIGINT, SIGTERM and SIGHUP only set a flag, so that a training loop can stop between two steps and
/// save. A second SIGINT (Ctrl-C) ends the process at once; SIGTERM and SIGHUP may come any number of times. A signal
/// that was ignored before stays ignored. At most one at a time. Thread safety: was_received() from any thread.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  /// Whether the signal has come. Any thread.
  [[nodiscard]] bool was_received() const noexcept;

 private:
  static constexpr std::array<int, 3> kSignals{SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, kSignals.size()> previous_{};
};

}  // namespace lockstep::run
