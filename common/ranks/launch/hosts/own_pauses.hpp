#pragma once
/// @file
/// A process that was stopped must not blame the others for the silence.
#include <chrono>
#include <utility>

#include "base/deadline.hpp"

namespace lockstep::launch {

/// Finds out whether this process has been stopped (Ctrl-Z, a frozen container): its loop, which takes a step at least
/// once per heartbeat_interval(), has then not run for much longer. Thread safety: one thread.
class OwnPauses {
 public:
  using Time = Deadline::Clock::time_point;

  /// @param liveness  Silence after which the others count as dead. @param now  Of the first step.
  explicit OwnPauses(std::chrono::milliseconds liveness, Time now = Deadline::Clock::now())
      : longest_step_(liveness / 2), last_(now) {}

  /// Call in every step. @return  True if this process was stopped since the last one: how long the others have been
  /// silent is then unknown.
  [[nodiscard]] bool note_step(Time now = Deadline::Clock::now()) noexcept {
    return now - std::exchange(last_, now) > longest_step_;
  }

 private:
  std::chrono::milliseconds longest_step_;
  Time last_;
};

}  // namespace lockstep::launch
