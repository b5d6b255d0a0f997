#include "launch/launcher.hpp"

#include <poll.h>
#include <signal.h>
#include <string.h>

#include <optional>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "base/error.hpp"
#include "base/preemption.hpp"
#include "base/process.hpp"
#include "base/processes.hpp"
#include "launch/grace.hpp"
#include "launch/job_folder.hpp"
#include "launch/local/job_outcome.hpp"
#include "launch/local/job_output.hpp"
#include "launch/local/job_report.hpp"
#include "launch/local/reaper_process.hpp"
#include "launch/local/shutdown.hpp"
#include "launch/local/signal_scope.hpp"
#include "launch/local/wait_status.hpp"
#include "launch/watching/job_log.hpp"
#include "store/tcp_store.hpp"

namespace lockstep::launch {
namespace {

// Time after which Ctrl-C gives up on processes that SIGKILL has not ended. Earlier it counts as part of a repeated
// press.
constexpr std::chrono::seconds kPatience{1};
// Limit between a signal's arrival at the first and the last of many processes.
constexpr std::chrono::milliseconds kSignalDelay{200};
// The folder of the ranks' flight records, unique to the job.
constexpr const char* kFolderVariable = "LOCKSTEP_FLIGHT_DIR";
// How long a failed job waits for a reader that takes nothing; a successful job waits without limit.
constexpr std::chrono::seconds kStuckOutputLimit{2};

/// The meeting of the ranks of a job on one host: a store in this process.
struct Meeting {
  ReservedPort port;
  std::string token = make_token();
  store::TcpStoreServer store{net::SocketAddress{}, token};

  [[nodiscard]] Variables variables(int world_size) const {
    return meeting_variables(world_size, port, store.address().text(), token);
  }
};

/// One run of run_job() or run_share(): waits for events of the ranks and handles them.
class Job {
 public:
  /// @param share  Null for run_job().
  Job(const JobOptions& options, SignalScope& signals, const HostShare* share)
      : options_(options),
        share_(share),
        first_rank_(share == nullptr ? 0 : share->first_rank),
        signals_(signals),
        output_(options.world_size, options.style, first_rank_),
        reaper_(options.command, options.world_size, merged_environment(variables()), signals_.inherited(),
                first_rank_) {}

  JobResult run() {
    output_.record_to(*log_);
    log_->start(share_ == nullptr ? 0 : share_->generation, options_.command, first_rank_, options_.world_size,
                folder_.path());
    while (!reaper_.has_ended() && !shutdown_.is_abandoned()) {
      wait();
      // Before the ranks' events: a signal to all processes of the job must not count as a failure of one rank.
      while (const int signal = signals_.take()) take_signal(signal);
      output_.take(reaper_);
      while (const auto event = reaper_.receive()) take_event(*event);
      if (share_ != nullptr) poll_other_hosts(*share_->peers);
      write_output();
      if (shutdown_.deadline().has_expired()) advance();
    }
    if (reaper_.has_ended() && !shutdown_.is_killing()) lose_watchers();
    if (reaper_.has_ended() && outcome_.left() > 0) sweep();
    if (outcome_.may_be_asked_to_end() && !outcome_.was_stopped()) wait_for_own_signal();
    if (outcome_.conclude_preemption() && share_ == nullptr) {  // otherwise the hub decides
      report_.say(concat("all ranks have stopped in good order; exit code ", kRequeueExitCode,
                         ": start the job again to go on"));
    }
    output_.take(reaper_);  // output that the last rank wrote before it ended
    output_.close();
    summarize();
    drain();
    log_->end(outcome_.result().exit_code);
    return outcome_.result();
  }

 private:
  [[nodiscard]] Variables variables() {
    Variables variables = share_ != nullptr ? share_->variables : meeting_.emplace().variables(options_.world_size);
    variables.emplace_back(kFolderVariable, folder_.path().string());
    const auto add = [&variables](const Variables& more) {
      variables.insert(variables.end(), more.begin(), more.end());
    };
    add(thread_variables(options_.world_size, usable_cores()));
    add(output_.variables());
    if (options_.preempt_signal != 0)
      variables.emplace_back(kPreemptSignalVariable, std::to_string(options_.preempt_signal));
    add(options_.variables);
    return variables;
  }

  void wait() {
    std::vector<pollfd> watched = {{reaper_.control_fd(), POLLIN, 0}, {signals_.fd(), POLLIN, 0}};
    if (share_ != nullptr) watched.push_back({share_->peers->fd(), POLLIN, 0});
    output_.watch(watched, reaper_);
    poll(watched.data(), watched.size(), shutdown_.deadline().poll_timeout_ms());
  }

  void take_event(const ReaperEvent& event) {
    const int rank = event.local_rank;
    switch (event.kind) {
      case ReaperEvent::Kind::kStarted:
        return log_->rank_started(rank, event.detail);
      case ReaperEvent::Kind::kStartFailed:
        fail(rank, concat("could not be started: ", options_.command.front(), ": ", strerror(event.detail)), 127);
        return shutdown_.kill();
      case ReaperEvent::Kind::kEnded:
        return take_end(rank, event.detail);
      case ReaperEvent::Kind::kSignalled:
        log_->signal(event.detail, "reaper");
        return stop(event.detail, concat(signal_name(event.detail), " to lockstep_reaper"));
      case ReaperEvent::Kind::kWatcherEnded:
        if (!shutdown_.is_killing()) lose_watchers();
        return;
    }
  }

  void take_end(int rank, int status) {
    outcome_.note_end();
    output_.take_rest(rank, reaper_);  // shown before the line that says how it ended
    log_->rank_ended(rank, status);
    if (exit_code_of(status) == kRequeueExitCode) return take_preemption(rank);
    if (exit_code_of(status) == 0) outcome_.note_success();
    if (exit_code_of(status) != 0) fail(rank, describe_end(status), exit_code_of(status));
    if (was_killed_from_outside(status)) blame(rank, describe_end(status), exit_code_of(status));
    if (outcome_.left() == 0) shutdown_.kill();  // processes that ranks have left behind
  }

  // It has saved and asks to be restarted: not a failure. The others have agreed to stop too.
  void take_preemption(int rank) {
    if (outcome_.note_preempted()) log_->preempted(rank);
    if (outcome_.left() == 0) return shutdown_.kill();
    if (!shutdown_.is_running()) return;
    outcome_.end_with(kRequeueExitCode);
    report_.say(concat("rank ", rank, " was asked to stop and has saved (exit code ", kRequeueExitCode,
                       "); ending the others"));
    shutdown_.settle();  // they have agreed to stop, and may be ending
  }

  void fail(int rank, const std::string& what, int exit_code) {
    // After a rank has saved, the others get time to end the same way: one that fails then has not saved.
    const bool is_unsaved = shutdown_.is_settling() && outcome_.is_preempted();
    // Otherwise it is a consequence of the first failure or of a signal to the launcher.
    if (!shutdown_.is_running() && !is_unsaved) return;
    note_failure(rank, what, exit_code);
    folder_.keep();
    const int others = outcome_.left();
    const bool is_first = others == options_.world_size;
    const std::string when = is_first ? "" : concat(" ", format_seconds(started_.waited()), " after the start");
    report_.say(concat("rank ", first_rank_ + rank, " ", what, when,
                       others > 0 ? concat("; ending the other ", others == 1 ? "rank" : "ranks") : ""));
    shutdown_.settle();
  }

  // No signal has been sent yet, so if a rank was killed, that is not a consequence.
  void blame(int rank, const std::string& what, int exit_code) {
    if (!shutdown_.is_settling() || !outcome_.may_follow_from(first_rank_ + rank)) return;
    note_failure(rank, what, exit_code);
    report_.say(concat("rank ", first_rank_ + rank, " ", what, ", and that came first: it only took longer to end"));
  }

  void note_failure(int local_rank, const std::string& what, int exit_code) {
    const int rank = first_rank_ + local_rank;
    const RankFailure failure{rank, what, report_.last_lines(rank)};
    outcome_.note_failure(failure, exit_code);
    folder_.note_first_failure(rank, what);
    log_->failure(local_rank, what);
    if (share_ != nullptr) share_->peers->report_failure(report_.failure_at_fault(failure), exit_code);
  }

  // A failure elsewhere is handled like one of this host's ranks.
  void poll_other_hosts(JobPeers& peers) {
    while (const auto line = peers.notice()) report_.say(*line);
    const auto request = peers.end_request();
    if (!request || !shutdown_.is_running()) return;
    outcome_.end_with(1);
    report_.say(concat(request->reason, "; ending this host's ranks"));
    if (request->manner == EndRequest::Manner::kOrderly) return shutdown_.terminate();
    folder_.keep();
    shutdown_.settle();
  }

  // A signal to this process. Only a repeated Ctrl-C has a further meaning: `timeout`, for example, sends SIGTERM to
  // its child and then to its whole group.
  void take_signal(int signal) {
    log_->signal(signal, "launcher");
    if (signal == SIGUSR1 && signal != options_.preempt_signal) return report_.say_where_ranks_are();
    const bool is_repeated = std::exchange(was_signalled_, true);
    if (!is_repeated || signal != SIGINT) return stop(signal, signal_name(signal));
    if (!shutdown_.is_killing()) {
      report_.say("killing all ranks");
      shutdown_.kill();
    } else if (shutdown_.deadline().waited() > kPatience) {
      abandon();
    }
  }

  void stop(int signal, const std::string& what) {
    if (outcome_.was_stopped()) return;
    if (share_ != nullptr) share_->peers->report_signal(signal);
    outcome_.note_signal(signal);
    if (!shutdown_.is_running() && !shutdown_.is_settling()) return;
    outcome_.end_by(signal);
    report_.say(concat(what, ": ending all ranks, which get ", format_seconds(grace_), " (Ctrl-C ",
                       signal == SIGINT ? "once more " : "", "kills them at once)"));
    shutdown_.terminate();
  }

  // All ranks may have ended by a signal to all processes before it arrives here.
  void wait_for_own_signal() {
    pollfd watched{signals_.fd(), POLLIN, 0};
    if (poll(&watched, 1, static_cast<int>(kSignalDelay.count())) <= 0) return;
    while (const int signal = signals_.take()) take_signal(signal);
  }

  // A step of the shutdown has reached its limit.
  void advance() {
    if (shutdown_.is_killing())
      abandon();
    else
      shutdown_.advance();
  }

  void abandon() {
    shutdown_.abandon();
    outcome_.fall_back_to(1);
    report_.say_what_is_left(descendants_of(reaper_.pid()), shutdown_.deadline().waited());
  }

  // The remaining one of reaper and guardian kills everything.
  void lose_watchers() {
    if (shutdown_.is_running()) outcome_.end_with(1);
    report_.say("the process that watches the ranks (lockstep_reaper) was killed, and the ranks with it");
    shutdown_.kill();
  }

  // If both were killed, the ranks died with the reaper, but not the processes that they had started: these still have
  // the job's folder in their environment, which no other job and no other host's share has.
  void sweep() {
    const std::string variable = concat(kFolderVariable, "=", folder_.path().string());
    const std::vector<pid_t> left = kill_processes_with(variable, Deadline::after(Shutdown::kKillLimit));
    if (!left.empty()) report_.say_what_is_left(left, shutdown_.deadline().waited());
  }

  void summarize() {
    if (!outcome_.result().failure) return;
    outcome_.set_last_lines(report_.last_lines(outcome_.result().failure->rank));
    const RankFailure failure = *outcome_.result().failure;
    // The first failure on any host is reported once all have ended.
    if (share_ == nullptr) report_.say_first_failure(failure);
    if (outcome_.was_only_interrupted() && options_.world_size > 1)
      report_.say("the other ranks here have ended in good order");
    report_.say_accused(failure);
    if (share_ != nullptr) outcome_.set_last_lines(report_.failure_at_fault(failure).last_lines);
    const int exit_code = outcome_.result().exit_code;
    const bool has_begun = exit_code != kUsageExitCode && exit_code != kUnavailableExitCode;
    if (has_begun) report_.say_last_collectives();
  }

  void write_output() {
    output_.flush();
    report_.say_what_was_lost();
    if (output_.is_lost() && shutdown_.is_running()) {
      outcome_.end_with(128 + SIGPIPE);  // the reader has gone (`| head`): the job's output is not needed any more
      shutdown_.terminate();
    }
  }

  // The job is over; its reader may take any time, unless the job has failed or a signal arrives.
  void drain() {
    const bool has_failed = outcome_.result().exit_code != 0;
    const Deadline deadline = has_failed ? Deadline::after(kStuckOutputLimit) : Deadline::never();
    while (output_.drain(deadline, signals_.fd())) {
      const int signal = signals_.take();
      if (signal != SIGUSR1) return outcome_.fall_back_to(128 + signal);
    }
    report_.say_what_was_lost();
    if (output_.is_lost()) outcome_.fall_back_to(128 + SIGPIPE);
  }

  const JobOptions& options_;
  const HostShare* share_;
  int first_rank_;
  const std::shared_ptr<JobLog> log_ = options_.log ? options_.log : std::make_shared<JobLog>();
  const std::chrono::milliseconds grace_ = options_.grace ? *options_.grace : default_grace();
  SignalScope& signals_;  // created before the store's thread, which inherits the blocked signals
  std::optional<Meeting> meeting_;
  JobFolder folder_;
  JobOutcome outcome_{options_};
  Deadline started_ = Deadline::never();
  bool was_signalled_ = false;  // this process
  JobOutput output_;
  JobReport report_{options_.name, folder_.path(), first_rank_, options_.world_size, output_};
  ReaperProcess reaper_;
  Shutdown shutdown_{reaper_, options_.settle, grace_};
};

}  // namespace

JobResult run_job(const JobOptions& options) {
  require(!options.command.empty(), "run_job: no command");
  require(options.world_size >= 1, "run_job: world_size is ", options.world_size, ", must be at least 1");
  SignalScope signals(options.preempt_signal);
  return Job(options, signals, nullptr).run();
}

JobResult run_share(const JobOptions& options, const HostShare& share) {
  require(!options.command.empty(), "run_share: no command");
  require(options.world_size >= 1, "run_share: ", options.world_size, " ranks, must be at least 1");
  return Job(options, *share.signals, &share).run();
}

}  // namespace lockstep::launch
