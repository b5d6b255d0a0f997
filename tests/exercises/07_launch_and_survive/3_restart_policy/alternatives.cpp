#include "exercise/alternatives.hpp"

#include <algorithm>

#include "07_launch_and_survive/3_restart_policy/restart_policy.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"ifs_in_place_of_a_switch", "one condition after the other, the ends of the job first"},
    {"pause_by_shifting", "the pause is 1 shifted by the number of restarts, as long as that is below the longest"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::elastic {

using exercise::is_alternative;

Decision RestartPolicy::start_or_wait(std::chrono::seconds pause) {
  Decision decision{.action = Action::kWait};
  is_running_ = false;
  if (hosts_ < options_.min_hosts) return decision;
  is_running_ = true;
  decision.action = Action::kStart;
  decision.pause = pause;
  return decision;
}

Decision RestartPolicy::restart_or_end(int exit_code) {
  if (restart_count_ == options_.max_restarts) return {Action::kEnd, exit_code, {}};
  auto pause = kFirstPause;
  if (is_alternative("pause_by_shifting")) {
    pause = restart_count_ < 5 ? std::chrono::seconds(1 << restart_count_) : kLongestPause;
  } else {
    for (int before = restart_count_; before > 0 && pause < kLongestPause; --before) pause += pause;
  }
  ++restart_count_;
  return start_or_wait(std::min(pause, kLongestPause));
}

Decision RestartPolicy::decide(const Event& event) {
  if (event.kind == EventKind::kFinished) return {Action::kEnd, 0, {}};
  if (event.kind == EventKind::kWaitedInVain) return {Action::kEnd, 1, {}};
  if (event.kind == EventKind::kRankFailed)
    return restart_or_end(event.signal == 0 ? event.exit_code : kSignalCodes + event.signal);
  if (event.kind == EventKind::kHostCame) {
    hosts_ += 1;
    if (is_running_ && hosts_ > options_.max_hosts) return Decision{};
    return start_or_wait({});
  }
  hosts_ -= 1;
  if (event.is_spare) return Decision{};
  const bool is_asked = event.kind == EventKind::kHostLeaves;
  if (is_asked && event.signal == kInterrupt) return {Action::kEnd, kSignalCodes + kInterrupt, {}};
  if (!is_running_ || is_elastic()) return start_or_wait({});
  if (!is_asked) return restart_or_end(1);
  return {Action::kEnd, event.have_all_saved ? kRequeueExitCode : kSignalCodes + event.signal, {}};
}

}  // namespace lockstep::elastic
