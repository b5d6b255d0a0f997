#pragma once
/// @file
/// How the ranks of a run agree to stop.
#include <cstdint>

#include "run/stop_signal.hpp"

namespace lockstep::run {

/// Exit status of a run that Ctrl-C or SIGHUP stopped in good order: 128 + SIGINT, as shells count. SIGTERM makes it
/// kRequeueExitCode (base/preemption.hpp).
inline constexpr int kInterruptedExitCode = 130;

/// Makes one rank's wish to stop the decision of all: a rank that stopped alone would leave the others waiting. After
/// each step every rank casts its vote(), and all of them count() the sum. Thread safety: none.
class StopVote {
 public:
  /// Signals are received from here on.
  /// @param stop_after  The step after which this rank votes to stop; 0: none.
  /// @throws FormatError  As StopSignal.
  StopVote(std::int64_t stop_after, int world_size) : stop_after_(stop_after), world_size_(world_size) {}

  /// This rank's vote after `step` steps: 0 goes on, 1 stops. If the rank is to make room for another job, it adds more
  /// than all others could.
  [[nodiscard]] double vote(std::int64_t step) const noexcept;
  /// @param votes  The sum over all ranks.
  void count(double votes) noexcept;

  /// Whether the last votes stop the run; the same on all ranks.
  [[nodiscard]] bool is_stopping() const noexcept { return votes_ > 0; }
  /// 0; kInterruptedExitCode if a signal has interrupted this rank; kRequeueExitCode on all ranks if one of them has to
  /// make room and the training is not complete.
  [[nodiscard]] int exit_code(bool is_complete) const noexcept;

 private:
  StopSignal signal_;
  std::int64_t stop_after_;
  int world_size_;
  double votes_ = 0;
};

}  // namespace lockstep::run
