#include "launch/hosts/roster/restart_policy.hpp"

#include <signal.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/preemption.hpp"
#include "launch/local/wait_status.hpp"

namespace lockstep::launch {
namespace {

// False for Ctrl-C and a closing terminal. Any other signal that a launcher takes is a preemption notice.
bool asks_to_make_room(int signal) { return signal != SIGINT && signal != SIGHUP; }

// The job was asked to end. If all ranks of all hosts have saved, it should be restarted, unless the signal means that
// it is not wanted any more.
VerdictMessage verdict_on_request(const GenerationEnd& end, int exit_code) {
  const int signal = exit_code - 128;
  if (!end.have_all_saved || (signal >= 0 && !asks_to_make_room(signal))) return {exit_code, end.cause->text, {}};
  return {
      kRequeueExitCode,
      concat(end.cause->text, "; all ranks have saved; exit code ", kRequeueExitCode, ": start the job again to go on"),
      {}};
}

}  // namespace

NextStep RestartPolicy::decide(const GenerationEnd& end) {
  if (!end.cause) return VerdictMessage{};
  const EndCause& cause = *end.cause;
  // Without the hub there is no next generation.
  if (end.hub_signal && cause.kind != EndCause::Kind::kRank) return verdict_on_request(end, 128 + *end.hub_signal);
  switch (cause.kind) {
    case EndCause::Kind::kMembership:
      return GatherAgain{};
    case EndCause::Kind::kHost:
      if (limits_.is_elastic) return GatherAgain{};
      return restart_or_give_up(end);
    case EndCause::Kind::kSignal:
      // A host of an elastic job is preempted; the others go on. Ctrl-C ends the job.
      if (limits_.is_elastic && asks_to_make_room(cause.exit_code - 128)) return GatherAgain{};
      return verdict_on_request(end, cause.exit_code);
    case EndCause::Kind::kPreempted:
      // The ranks of the leaving host told the others before the host did.
      if (limits_.is_elastic && end.is_any_leaving) return GatherAgain{};
      return end.have_all_saved ? verdict_on_request(end, cause.exit_code) : restart_or_give_up(end);
    case EndCause::Kind::kRank:
      break;
  }
  return restart_or_give_up(end);
}

NextStep RestartPolicy::restart_or_give_up(const GenerationEnd& end) {
  const EndCause& cause = *end.cause;
  const bool has_restarts = restart_count_ < limits_.max_restarts && !end.hub_signal;
  if (!has_restarts || is_wrong_use(cause)) {
    const std::string restarts =
        restart_count_ == 0 ? "" : concat(", after ", restart_count_, restart_count_ == 1 ? " restart" : " restarts");
    const std::string why =
        has_restarts ? concat("; no restart: exit code ", kUsageExitCode, " means a wrong command line or setting")
                     : "";
    return VerdictMessage{cause.exit_code, concat("first failure", restarts, ": ", cause.text, why), cause.last_lines};
  }
  const auto pause_before = pause();
  ++restart_count_;
  return Restart{pause_before, concat("restart ", restart_count_, " of ", limits_.max_restarts, " in ",
                                      format_seconds(pause_before), ", because ", cause.text)};
}

// The next start would find the same. Not so in an elastic job, where options that fit no 3 hosts may fit 4.
bool RestartPolicy::is_wrong_use(const EndCause& cause) const noexcept {
  return !limits_.is_elastic && cause.kind == EndCause::Kind::kRank && cause.exit_code == kUsageExitCode;
}

std::chrono::milliseconds RestartPolicy::pause() const {
  auto pause = limits_.backoff;
  for (int i = 0; i < restart_count_ && pause < limits_.longest_backoff; ++i) pause *= 2;
  return std::min(pause, limits_.longest_backoff);
}

}  // namespace lockstep::launch
