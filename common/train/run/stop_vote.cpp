#include "run/stop_vote.hpp"

#include "base/preemption.hpp"

namespace lockstep::run {

double StopVote::vote(std::int64_t step) const noexcept {
  const StopReason reason = signal_.reason();
  const double stops = reason != StopReason::kNone || step == stop_after_ ? 1 : 0;
  return reason == StopReason::kPreempted ? stops + world_size_ : stops;
}

void StopVote::count(double votes) noexcept { votes_ = votes; }

int StopVote::exit_code(bool is_complete) const noexcept {
  if (signal_.reason() == StopReason::kInterrupted) return kInterruptedExitCode;
  const bool is_preempted = votes_ > world_size_;
  return is_preempted && !is_complete ? kRequeueExitCode : 0;
}

}  // namespace lockstep::run
