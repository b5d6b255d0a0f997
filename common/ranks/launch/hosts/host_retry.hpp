#pragma once
/// @file
/// Schedules attempts to restart a lost host. Internal to this module.
#include <chrono>
#include <string>
#include <utility>

#include "base/deadline.hpp"

namespace lockstep::launch {

/// The attempts for one host: the pause doubles after each failed one. Thread safety: one thread.
class HostRetry {
 public:
  /// @param backoff  The first pause. @param patience  For the host to come back after it was lost.
  HostRetry(std::chrono::milliseconds backoff, std::chrono::milliseconds patience)
      : backoff_(backoff), patience_(patience) {}

  /// The host is lost, or could not be reached. @return  Whether the problem differs from that of the last attempt.
  bool note_problem(const std::string& problem) { return std::exchange(problem_, problem) != problem; }
  /// The host is back and has joined the others.
  void note_success();
  /// Plans the next attempt.
  void schedule();
  /// Cancels the next attempt.
  void cancel() { next_attempt_ = Deadline::never(); }

  /// Whether the host is lost, as far as is known.
  [[nodiscard]] bool has_problem() const noexcept { return !problem_.empty(); }
  /// Whether the host has not come back in time.
  [[nodiscard]] bool is_exhausted() const { return pause_.count() > 0 && last_attempt_.has_expired(); }
  /// Deadline::never() if none is planned.
  [[nodiscard]] const Deadline& next_attempt() const noexcept { return next_attempt_; }

 private:
  std::chrono::milliseconds backoff_, patience_;
  std::chrono::milliseconds pause_{0};  // before the last attempt; 0: it is not lost
  std::string problem_;
  Deadline next_attempt_ = Deadline::never();
  Deadline last_attempt_ = Deadline::never();  // after which the host is not tried again
};

}  // namespace lockstep::launch
