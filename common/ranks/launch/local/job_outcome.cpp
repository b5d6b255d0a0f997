#include "launch/local/job_outcome.hpp"

#include <signal.h>

#include <utility>

#include "base/preemption.hpp"
#include "launch/local/wait_status.hpp"

namespace lockstep::launch {

void JobOutcome::note_failure(RankFailure failure, int exit_code) {
  result_.exit_code = exit_code;
  result_.failure = std::move(failure);
}

void JobOutcome::note_signal(int signal) {
  was_stopped_ = true;
  if (!may_be_asked_to_end()) return;
  result_.failure.reset();
  result_.exit_code = 128 + signal;
}

void JobOutcome::fall_back_to(int exit_code) noexcept {
  if (result_.exit_code == 0) result_.exit_code = exit_code;
}

void JobOutcome::end_by(int signal) noexcept {
  if (!result_.failure) result_.exit_code = 128 + signal;
}

bool JobOutcome::conclude_preemption() {
  const bool was_asked = result_.exit_code == 128 + SIGTERM ||
                         (options_.preempt_signal != 0 && result_.exit_code == 128 + options_.preempt_signal);
  if (preempted_ < options_.world_size || result_.failure || (was_stopped_ && !was_asked)) return false;
  result_.exit_code = kRequeueExitCode;
  return true;
}

bool JobOutcome::was_only_interrupted() const noexcept {
  return result_.failure && result_.exit_code == kInterruptedExitCode &&
         succeeded_ + preempted_ == options_.world_size - 1;  // - 1: the interrupted one
}

bool JobOutcome::is_preempted() const noexcept { return !result_.failure && result_.exit_code == kRequeueExitCode; }

bool JobOutcome::may_be_asked_to_end() const noexcept {
  const int signal = result_.exit_code - 128;
  return result_.failure && (signal == SIGTERM || signal == SIGHUP || signal == SIGINT);
}

bool JobOutcome::may_follow_from(int rank) const noexcept {
  if (was_stopped_ || (result_.failure && result_.failure->rank == rank)) return false;
  return result_.exit_code < 128;  // otherwise the first one was killed too
}

}  // namespace lockstep::launch
