#pragma once
/// @file
/// How the ranks of a run agree to stop.
#include <cstdint>

#include "run/stop_signal.hpp"

namespace lockstep::run {

/// Exit status of a run that Ctrl-C or SIGHUP stopped cleanly: 128 + SIGINT, as in shells. After SIGTERM it is
/// kRequeueExitCode (base/preemption.hpp).
inline constexpr int kInterruptedExitCode = 130;

/// Turns one rank's request to stop into a decision of all ranks: if one stopped alone, the others would wait for it.
/// After each step every rank casts its vote(), and all of them count() the sum. Thread safety: none.
class StopVote {
 public:
  /// Signals are received from here on.
  /// @param stop_after  This rank votes to stop after this step; 0: never.
  /// @throws FormatError  As StopSignal.
  StopVote(std::int64_t stop_after, int world_size) : stop_after_(stop_after), world_size_(world_size) {}

  /// This rank's vote after `step` steps: 0 to continue, 1 to stop. If the rank is being preempted, its vote exceeds
  /// the sum of all ordinary votes.
  [[nodiscard]] double vote(std::int64_t step) const noexcept;
  /// @param votes  The sum over all ranks.
  void count(double votes) noexcept;

  /// True if the last votes stop the run; the same on all ranks.
  [[nodiscard]] bool is_stopping() const noexcept { return votes_ > 0; }
  /// 0; kInterruptedExitCode if a signal interrupted this rank; kRequeueExitCode on all ranks if one of them was
  /// preempted and training is not complete.
  [[nodiscard]] int exit_code(bool is_complete) const noexcept;

 private:
  StopSignal signal_;
  std::int64_t stop_after_;
  int world_size_;
  double votes_ = 0;
};

}  // namespace lockstep::run
