#include <algorithm>

#include "07_launch_and_survive/3_restart_policy/restart_policy.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"starts_with_too_few", "a generation is started as soon as any host is there", "Compare with min_hosts first."},
    {"one_restart_too_many", "the job is started again once more often than --max-restarts says",
     "With --max-restarts 2 the third failure ends the job."},
    {"first_start_counts", "the first start uses up a restart, too",
     "max_restarts counts failures: --max-restarts 1 means that the job may be started twice."},
    {"same_pause", "the pause is the same before every restart",
     "A job that failed after a second will often fail again: double the pause each time."},
    {"doubles_too_early", "the first pause is already doubled", "The first restart has kFirstPause."},
    {"no_longest_pause", "pauses are doubled without limit",
     "After ten failures the hosts would be idle for minutes: "
     "stop at kLongestPause."},
    {"pause_without_failure", "a start after a host has come, gone or been lost has a pause, too",
     "Only failures have a pause: what has changed is known, and the hosts are idle meanwhile."},
    {"finished_ends_with_1", "a job whose ranks all ended with 0 ends with another code",
     "0 tells the batch system that it is done with the job."},
    {"always_ends_with_1", "the launcher ends with 1, whatever the rank's exit code was",
     "A batch script decides by the exit code: pass the rank's on."},
    {"loses_the_signal", "a rank that a signal has killed counts as one that ended with 0",
     "Its exit_code is 0 then. End with kSignalCodes + signal."},
    {"signal_is_exit_code", "the launcher ends with the signal's number",
     "Shells and batch systems know 128 + signal: 137 for SIGKILL, 139 for SIGSEGV."},
    {"elastic_changes_count", "a host that comes, goes or is lost in an elastic job uses up a restart",
     "That is what an elastic job is for. Only failures count."},
    {"fixed_loss_is_free", "a lost host of a job that is not elastic uses up no restart",
     "A host that fails again and again would restart the job without end."},
    {"gives_up_below_minimum", "an elastic job ends when fewer than min_hosts are left",
     "Others may come. Wait: kWaitedInVain says when it has been long enough."},
    {"still_running_while_it_waits", "a job that has lost hosts and waits for others still counts as running",
     "Where start_or_wait() waits, is_running_ is false: a host that goes then is no failure of the job."},
    {"leaving_ends_a_waiting_job", "a host that leaves ends a job that is not elastic, also before it has started",
     "While the job waits, there are no ranks that could save: take the host off, and go on waiting."},
    {"spare_restarts", "a host that comes beyond max_hosts ends the generation",
     "The job would be started anew as it was. Keep the host as a spare."},
    {"lost_spare_restarts", "the loss of a spare ends the generation", "It had no ranks: go on."},
    {"forgets_spares", "spares are not counted among the hosts that are there",
     "When a member is lost, a spare takes its place: hosts_ includes it."},
    {"lost_spare_stays", "a spare that is lost or leaves is not taken off the hosts that are there",
     "The job then starts with a host that has gone: count first, and go on afterwards."},
    {"preemption_is_a_failure", "a job that was asked to make room is started again on the spot",
     "The host is about to be taken away. End with kRequeueExitCode, so that the batch system starts the job later."},
    {"unsaved_is_requeued", "the launcher ends with 75 although not all ranks have saved",
     "75 says that nothing is lost. Otherwise end with 128 + signal."},
    {"ctrl_c_is_requeued", "after Ctrl-C the job is put back into the queue, or goes on without the host",
     "Who presses Ctrl-C does not want the job any more: end it, saved or not."},
    {"ctrl_c_on_a_spare_ends_the_job", "a spare that leaves after Ctrl-C ends the job",
     "No rank has stopped: look at is_spare first, then at the signal."},
    {"waits_after_ctrl_c", "a job that waits for hosts goes on waiting after Ctrl-C",
     "Nobody wants the job any more, whether it runs or not: look at the signal first."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::elastic {

using exercise::is_mistake;
using namespace std::chrono_literals;

Decision RestartPolicy::start_or_wait(std::chrono::seconds pause) {
  const bool is_enough = hosts_ >= (is_mistake("starts_with_too_few") ? 1 : options_.min_hosts);
  is_running_ = is_enough || (is_running_ && is_mistake("still_running_while_it_waits"));
  if (is_enough) return {.action = Action::kStart, .pause = pause};
  if (is_mistake("gives_up_below_minimum") && is_elastic()) return {.action = Action::kEnd, .exit_code = 1};
  return {.action = Action::kWait};
}

Decision RestartPolicy::restart_or_end(int exit_code) {
  const int limit = options_.max_restarts + (is_mistake("one_restart_too_many") ? 1 : 0);
  if (restart_count_ >= limit)
    return {.action = Action::kEnd, .exit_code = is_mistake("always_ends_with_1") ? 1 : exit_code};
  const int doublings = restart_count_ + (is_mistake("doubles_too_early") ? 1 : 0);
  std::chrono::seconds pause = kFirstPause;
  const bool is_unlimited = is_mistake("no_longest_pause");
  for (int i = 0; i < std::min(doublings, 40) && !is_mistake("same_pause"); ++i) pause *= 2;
  ++restart_count_;
  return start_or_wait(is_unlimited ? pause : std::min(pause, kLongestPause));
}

Decision RestartPolicy::decide(const Event& event) {
  const bool is_request = event.kind == EventKind::kHostLeaves;
  const int signal_code = (is_mistake("signal_is_exit_code") && !is_request ? 0 : kSignalCodes) + event.signal;
  const auto change = [&] {
    const bool counts = is_mistake("elastic_changes_count") && is_elastic() && is_running_;
    return counts ? restart_or_end(1) : start_or_wait(is_mistake("pause_without_failure") ? kFirstPause : 0s);
  };
  switch (event.kind) {
    case EventKind::kHostCame: {
      ++hosts_;
      const bool is_spare = is_running_ && hosts_ > options_.max_hosts;
      if (is_spare && is_mistake("forgets_spares")) --hosts_;
      if (is_spare && !is_mistake("spare_restarts")) return {};
      if (is_mistake("first_start_counts") && !is_running_ && hosts_ == options_.min_hosts) ++restart_count_;
      return change();
    }
    case EventKind::kHostLost:
    case EventKind::kHostLeaves:
      if (event.is_spare && (is_mistake("forgets_spares") || is_mistake("lost_spare_stays"))) return {};
      --hosts_;
      if (event.is_spare && event.signal == kInterrupt && is_mistake("ctrl_c_on_a_spare_ends_the_job"))
        return {.action = Action::kEnd, .exit_code = signal_code};
      if (event.is_spare && !is_mistake("lost_spare_restarts")) return {};
      if (event.kind == EventKind::kHostLost) {
        const bool is_free = is_elastic() || is_mistake("fixed_loss_is_free") || !is_running_;
        return is_free ? change() : restart_or_end(1);
      }
      if (!is_running_ && is_mistake("waits_after_ctrl_c")) return change();
      if (event.signal == kInterrupt && !is_mistake("ctrl_c_is_requeued"))
        return {.action = Action::kEnd, .exit_code = signal_code};
      if (is_elastic() || (!is_running_ && !is_mistake("leaving_ends_a_waiting_job"))) return change();
      if (is_mistake("preemption_is_a_failure")) return restart_or_end(kRequeueExitCode);
      return {.action = Action::kEnd,
              .exit_code = event.have_all_saved || is_mistake("unsaved_is_requeued") ? kRequeueExitCode : signal_code};
    case EventKind::kRankFailed:
      return restart_or_end(event.signal != 0 && !is_mistake("loses_the_signal") ? signal_code : event.exit_code);
    case EventKind::kFinished:
      break;
    case EventKind::kWaitedInVain:
      return {.action = Action::kEnd, .exit_code = 1};
  }
  return {.action = Action::kEnd, .exit_code = is_mistake("finished_ends_with_1") ? 1 : 0};
}

}  // namespace lockstep::elastic
