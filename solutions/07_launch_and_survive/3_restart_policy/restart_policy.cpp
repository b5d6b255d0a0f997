#include "07_launch_and_survive/3_restart_policy/restart_policy.hpp"

#include <algorithm>

namespace lockstep::elastic {

Decision RestartPolicy::start_or_wait(std::chrono::seconds pause) {
  // SOLUTION(07.3) start_or_wait: are enough hosts there?
  is_running_ = hosts_ >= options_.min_hosts;
  if (!is_running_) return {.action = Action::kWait};
  return {.action = Action::kStart, .pause = pause};
  // END SOLUTION
}

Decision RestartPolicy::restart_or_end(int exit_code) {
  // SOLUTION(07.3) restart_or_end: is a restart left, and how long is the pause before it?
  if (restart_count_ >= options_.max_restarts) return {.action = Action::kEnd, .exit_code = exit_code};
  std::chrono::seconds pause = kFirstPause;
  for (int i = 0; i < restart_count_ && pause < kLongestPause; ++i) pause *= 2;
  ++restart_count_;
  return start_or_wait(std::min(pause, kLongestPause));
  // END SOLUTION
}

Decision RestartPolicy::decide(const Event& event) {
  // SOLUTION(07.3) decide: tell failures, changes of hosts and ends of the job apart
  const Decision go_on{.action = Action::kGoOn};
  const int signal_code = kSignalCodes + event.signal;
  switch (event.kind) {
    case EventKind::kHostCame:
      ++hosts_;
      return is_running_ && hosts_ > options_.max_hosts ? go_on : start_or_wait({});
    case EventKind::kHostLost:
      --hosts_;
      if (event.is_spare) return go_on;
      return is_elastic() || !is_running_ ? start_or_wait({}) : restart_or_end(1);
    case EventKind::kHostLeaves:
      --hosts_;
      if (event.is_spare) return go_on;
      if (event.signal == kInterrupt) return {.action = Action::kEnd, .exit_code = signal_code};
      if (is_elastic() || !is_running_) return start_or_wait({});
      return {.action = Action::kEnd, .exit_code = event.have_all_saved ? kRequeueExitCode : signal_code};
    case EventKind::kRankFailed:
      return restart_or_end(event.signal != 0 ? signal_code : event.exit_code);
    case EventKind::kFinished:
      break;
    case EventKind::kWaitedInVain:
      return {.action = Action::kEnd, .exit_code = 1};
  }
  return {.action = Action::kEnd, .exit_code = 0};
  // END SOLUTION
}

}  // namespace lockstep::elastic
