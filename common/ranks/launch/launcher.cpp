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
#include "launch/local/job_output.hpp"
#include "launch/local/reaper_process.hpp"
#include "launch/local/signal_scope.hpp"
#include "launch/local/wait_status.hpp"
#include "launch/watching/flight_summary.hpp"
#include "launch/watching/job_log.hpp"
#include "store/tcp_store.hpp"

namespace lockstep::launch {
namespace {

constexpr std::chrono::seconds kKillLimit{5};
// Until Ctrl-C gives up on what SIGKILL has not ended yet. Sooner it is one press of several.
constexpr std::chrono::seconds kPatience{1};
// From a signal's arrival at the first of many processes to that at the last.
constexpr std::chrono::milliseconds kSignalDelay{200};
constexpr std::size_t kShownCollectives = 2;
constexpr std::size_t kShownRanks = 16;  // the culprit and those that are behind come first
// What run_guarded() (base/command_line.hpp) ends a program with that cannot begin: its collectives tell nothing.
constexpr int kUsageExit = 2, kUnavailableExit = 77;
constexpr std::size_t kReportedCollectives = 10;  // on SIGUSR1
// Where the ranks' flight recorders write; of no other job.
constexpr const char* kFolderVariable = "LOCKSTEP_FLIGHT_DIR";
// For a reader that takes nothing, once the job has failed: a healthy job's output is waited for.
constexpr std::chrono::seconds kStuckOutputLimit{2};

/// How the ranks of a job on one host find each other: by a store of this process.
struct Meeting {
  ReservedPort port;
  std::string token = make_token();
  store::TcpStoreServer store{net::SocketAddress{}, token};
};

/// One run of run_job() or run_share().
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
    while (!reaper_.has_ended() && !is_abandoned_) {
      wait();
      // Before what the ranks did: a signal to all processes of the job must not pass for a failure of one.
      while (const int signal = signals_.take()) take_signal(signal);
      output_.take(reaper_);
      while (const auto event = reaper_.receive()) take_event(*event);
      if (share_ != nullptr) hear_peers(*share_->peers);
      write_output();
      if (deadline_.has_expired()) advance();
    }
    if (reaper_.has_ended() && phase_ != Phase::kKilling) lose_watchers();
    if (reaper_.has_ended() && ended_ < options_.world_size) sweep();
    if (was_asked_to_end() && !is_stopped_by_signal_) wait_for_own_signal();
    conclude_preemption();
    output_.take(reaper_);  // what the last rank wrote before it ended
    output_.close();
    summarize();
    drain();
    log_->end(result_.exit_code);
    return result_;
  }

 private:
  [[nodiscard]] Variables variables() {
    Variables variables = share_ != nullptr ? share_->variables : own_meeting();
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

  [[nodiscard]] Variables own_meeting() {
    const Meeting& meeting = meeting_.emplace();
    return meeting_variables(options_.world_size, meeting.port, meeting.store.address().text(), meeting.token);
  }

  enum class Phase { kRunning, kSettling, kTerminating, kKilling };

  void wait() {
    std::vector<pollfd> watched = {{reaper_.control_fd(), POLLIN, 0}, {signals_.fd(), POLLIN, 0}};
    if (share_ != nullptr) watched.push_back({share_->peers->fd(), POLLIN, 0});
    output_.watch(watched, reaper_);
    poll(watched.data(), watched.size(), deadline_.poll_timeout_ms());
  }

  void take_event(const ReaperEvent& event) {
    const int rank = event.local_rank;
    switch (event.kind) {
      case ReaperEvent::Kind::kStarted:
        return log_->rank_started(rank, event.detail);
      case ReaperEvent::Kind::kStartFailed:
        fail(rank, concat("could not be started: ", options_.command.front(), ": ", strerror(event.detail)), 127);
        return kill();
      case ReaperEvent::Kind::kEnded:
        return take_end(rank, event.detail);
      case ReaperEvent::Kind::kSignalled:
        log_->signal(event.detail, "reaper");
        return stop(event.detail, concat(signal_name(event.detail), " to lockstep_reaper"));
      case ReaperEvent::Kind::kWatcherEnded:
        if (phase_ != Phase::kKilling) lose_watchers();
        return;
    }
  }

  void take_end(int rank, int status) {
    ++ended_;
    output_.take_rest(rank, reaper_);  // shown before the line that says how it ended
    log_->rank_ended(rank, status);
    if (exit_code_of(status) == kRequeueExitCode) return take_preemption(rank);
    if (exit_code_of(status) != 0) fail(rank, describe_end(status), exit_code_of(status));
    if (was_killed_from_outside(status)) blame(rank, describe_end(status), exit_code_of(status));
    if (ended_ == options_.world_size) kill();  // what the ranks have left running
  }

  // It has saved and asks to be started again: no failure. The others have agreed with it to stop.
  void take_preemption(int rank) {
    if (preempted_++ == 0) log_->preempted(rank);
    if (ended_ == options_.world_size) return kill();
    if (phase_ != Phase::kRunning) return;
    result_.exit_code = kRequeueExitCode;
    say(concat("rank ", rank, " was asked to stop and has saved (exit code ", kRequeueExitCode,
               "); ending the others"));
    enter(Phase::kSettling, options_.settle);  // they have agreed to stop, and may be ending
  }

  // The others of a rank that has saved get their time to end as it did: one that fails now has not saved.
  [[nodiscard]] bool is_waiting_for_preempted() const {
    return phase_ == Phase::kSettling && !result_.failure && result_.exit_code == kRequeueExitCode;
  }

  // Where a signal to this process was the reason, and all ranks have saved, the job is to be started again.
  void conclude_preemption() {
    const bool is_asked = result_.exit_code == 128 + SIGTERM ||
                          (options_.preempt_signal != 0 && result_.exit_code == 128 + options_.preempt_signal);
    if (preempted_ < options_.world_size || result_.failure) return;
    if (is_stopped_by_signal_ && !is_asked) return;
    result_.exit_code = kRequeueExitCode;
    if (share_ != nullptr) return;  // the hub says what becomes of the job
    say(concat("all ranks have stopped in good order; exit code ", kRequeueExitCode, ": start the job again to go on"));
  }

  // Nobody has sent a signal yet, so this rank's end is no consequence. The kernel takes a killed process apart before
  // it tells its parent; a peer that misses it may have ended with an error by then.
  void blame(int rank, const std::string& what, int exit_code) {
    if (phase_ != Phase::kSettling || is_stopped_by_signal_) return;
    if (result_.failure && result_.failure->rank == first_rank_ + rank) return;
    if (result_.exit_code >= 128) return;  // so was the first
    note_failure(rank, what, exit_code);
    say(concat("rank ", first_rank_ + rank, " ", what, ", and that came first: it only took longer to end"));
  }

  void note_failure(int local_rank, const std::string& what, int exit_code) {
    result_.exit_code = exit_code;
    result_.failure = RankFailure{first_rank_ + local_rank, what, output_.last_lines(local_rank)};
    folder_.note_first_failure(first_rank_ + local_rank, what);
    log_->failure(local_rank, what);
    if (share_ != nullptr) share_->peers->report_failure(failure_for_others(), exit_code);
  }

  // The rank that the ranks here were told is at fault; if they were told nothing, the one that has ended first. Who
  // waits for a rank that fails may well end before it does.
  [[nodiscard]] RankFailure failure_for_others() const {
    const RankFailure& first = *result_.failure;
    const std::optional<int> accused = accused_rank(folder_.path());
    if (!accused || *accused == first.rank) return first;
    const int local_rank = *accused - first_rank_;
    const bool is_here = local_rank >= 0 && local_rank < options_.world_size;
    return {*accused, concat("is at fault, as rank ", first.rank, " was told, which ", first.what),
            is_here ? output_.last_lines(local_rank) : first.last_lines};
  }

  // A failure elsewhere takes its course here as one of this host's ranks does.
  void hear_peers(JobPeers& peers) {
    while (const auto line = peers.notice()) say(*line);
    const auto request = peers.end_request();
    if (!request || phase_ != Phase::kRunning) return;
    result_.exit_code = 1;
    say(concat(request->reason, "; ending this host's ranks"));
    if (request->manner == EndRequest::Manner::kOrderly) return terminate();
    folder_.keep();
    enter(Phase::kSettling, options_.settle);
  }

  void fail(int rank, const std::string& what, int exit_code) {
    // Else it is a consequence of the first failure, or of a signal to the launcher.
    if (phase_ != Phase::kRunning && !is_waiting_for_preempted()) return;
    note_failure(rank, what, exit_code);
    folder_.keep();
    const int others = options_.world_size - ended_;
    const std::string when = ended_ == 0 ? "" : concat(" ", format_seconds(started_.waited()), " after the start");
    say(concat("rank ", first_rank_ + rank, " ", what, when,
               others > 0 ? concat("; ending the other ", others == 1 ? "rank" : "ranks") : ""));
    enter(Phase::kSettling, options_.settle);
  }

  // From the files, so that it needs nothing of a rank that hangs.
  void report() {
    const std::string collectives = flight_summary(folder_.path(), kReportedCollectives, kShownRanks);
    say(collectives.empty() ? "SIGUSR1: no rank has entered a collective yet" : "SIGUSR1: where the ranks are:");
    if (!collectives.empty())
      output_.announce(collectives.substr(0, collectives.size() - 1));  // without the last line end
  }

  // To this process. Only Ctrl-C means more when it comes twice: `timeout`, for one, sends SIGTERM to its child and
  // then to its whole group.
  void take_signal(int signal) {
    log_->signal(signal, "launcher");
    if (signal == SIGUSR1 && signal != options_.preempt_signal) return report();
    const bool is_repeated = std::exchange(was_signalled_, true);
    if (!is_repeated || signal != SIGINT) return stop(signal, signal_name(signal));
    if (phase_ != Phase::kKilling) {
      say("killing all ranks");
      kill();
    } else if (deadline_.waited() > kPatience) {
      abandon();
    }
  }

  void stop(int signal, const std::string& what) {
    if (std::exchange(is_stopped_by_signal_, true)) return;
    if (share_ != nullptr) share_->peers->report_signal(signal);
    if (was_asked_to_end()) {
      result_.failure.reset();
      result_.exit_code = 128 + signal;
    }
    if (phase_ != Phase::kRunning && phase_ != Phase::kSettling) return;
    if (!result_.failure) result_.exit_code = 128 + signal;
    say(concat(what, ": ending all ranks, which get ", format_seconds(grace_), " (Ctrl-C ",
               signal == SIGINT ? "once more " : "", "kills them at once)"));
    terminate();
  }

  // Whether what looks like a rank's failure is a signal that was sent to all processes, and that the rank got first.
  [[nodiscard]] bool was_asked_to_end() const {
    const int signal = result_.exit_code - 128;
    return result_.failure && (signal == SIGTERM || signal == SIGHUP || signal == SIGINT);
  }

  // All ranks may have ended by such a signal before it has come here.
  void wait_for_own_signal() {
    pollfd watched{signals_.fd(), POLLIN, 0};
    if (poll(&watched, 1, static_cast<int>(kSignalDelay.count())) <= 0) return;
    while (const int signal = signals_.take()) take_signal(signal);
  }

  // A phase has lasted its time.
  void advance() {
    if (phase_ == Phase::kSettling)
      terminate();
    else if (phase_ == Phase::kTerminating)
      kill();
    else
      abandon();
  }

  void enter(Phase phase, std::chrono::milliseconds limit) {
    phase_ = phase;
    deadline_ = Deadline::after(limit);
  }

  void terminate() {
    enter(Phase::kTerminating, grace_);
    reaper_.terminate();
  }

  void kill() {
    enter(Phase::kKilling, kKillLimit);
    reaper_.kill();
  }

  // Nobody can do more than to send SIGKILL, and the reaper goes on doing that.
  void abandon() {
    is_abandoned_ = true;
    reaper_.abandon();
    if (result_.exit_code == 0) result_.exit_code = 1;
    report_left(descendants_of(reaper_.pid()));
  }

  void report_left(const std::vector<pid_t>& pids) {
    say(concat("not everything has ended ", format_seconds(deadline_.waited()),
               " after SIGKILL: ", describe_processes(pids),
               "; it may wait in the kernel for a disk or a device, or belong to another user"));
  }

  // Whichever of reaper and guardian is left kills everything.
  void lose_watchers() {
    if (phase_ == Phase::kRunning) result_.exit_code = 1;
    say("the process that watches the ranks (lockstep_reaper) was killed, and the ranks with it");
    kill();
  }

  // Where both were killed, the ranks died with the reaper, but not what they had started: that still has the job's
  // folder in its environment, which no other job and no other host's share has.
  void sweep() {
    const std::string variable = concat(kFolderVariable, "=", folder_.path().string());
    const std::vector<pid_t> left = kill_processes_with(variable, Deadline::after(kKillLimit));
    if (!left.empty()) report_left(left);
  }

  void summarize() {
    if (!result_.failure) return;
    RankFailure& failure = *result_.failure;
    failure.last_lines = output_.last_lines(failure.rank - first_rank_);
    if (share_ == nullptr) {  // else the failure that came first over all hosts is named once all have ended
      say(concat("first failure: rank ", failure.rank, " ", failure.what,
                 failure.last_lines.empty() ? "; it printed nothing" : "; its last lines:"));
      for (const std::string& line : failure.last_lines) output_.announce("  | " + line);
    }
    show_accused();
    if (share_ != nullptr) failure.last_lines = failure_for_others().last_lines;
    if (result_.exit_code == kUsageExit || result_.exit_code == kUnavailableExit) return;
    const std::string collectives = flight_summary(folder_.path(), kShownCollectives, kShownRanks);
    if (collectives.empty()) return;
    say("the last collectives of each rank (lockstep trace --last-failure shows more):");
    output_.announce(collectives.substr(0, collectives.size() - 1));
  }

  // A rank that waits for another one may end first, and then its last lines only say that the other has failed.
  void show_accused() {
    const std::optional<int> accused = accused_rank(folder_.path());
    const int local_rank = accused.value_or(-1) - first_rank_;
    if (!accused || *accused == result_.failure->rank || local_rank < 0 || local_rank >= options_.world_size) return;
    const std::vector<std::string> lines = output_.last_lines(local_rank);
    if (lines.empty() || lines == result_.failure->last_lines) return;
    say(concat("the ranks say that rank ", *accused, " is at fault; its last lines:"));
    for (const std::string& line : lines) output_.announce("  | " + line);
  }

  void say(const std::string& text) { output_.announce(options_.name + ": " + text); }

  void write_output() {
    output_.flush();
    say_what_was_lost();
    if (output_.is_lost() && phase_ == Phase::kRunning) {
      result_.exit_code = 128 + SIGPIPE;  // the reader has gone (`| head`): nobody wants the job's output any more
      terminate();
    }
  }

  // A full disk, say: no reason to end a job.
  void say_what_was_lost() {
    while (const auto problem = output_.take_problem()) say(*problem);
    output_.flush();
  }

  // The job is over; its reader may take its time, unless the job has failed or somebody sends a signal.
  void drain() {
    const Deadline deadline = result_.exit_code == 0 ? Deadline::never() : Deadline::after(kStuckOutputLimit);
    while (output_.drain(deadline, signals_.fd())) {
      const int signal = signals_.take();
      if (signal == SIGUSR1) continue;
      if (result_.exit_code == 0) result_.exit_code = 128 + signal;
      return;
    }
    say_what_was_lost();
    if (output_.is_lost() && result_.exit_code == 0) result_.exit_code = 128 + SIGPIPE;
  }

  const JobOptions& options_;
  const HostShare* share_;
  int first_rank_;
  const std::shared_ptr<JobLog> log_ = options_.log ? options_.log : std::make_shared<JobLog>();
  const std::chrono::milliseconds grace_ = options_.grace ? *options_.grace : default_grace();
  SignalScope& signals_;  // made before the store's thread, which inherits the blocked signals
  std::optional<Meeting> meeting_;
  JobFolder folder_;
  JobResult result_;
  Phase phase_ = Phase::kRunning;
  Deadline started_ = Deadline::never();
  Deadline deadline_ = Deadline::never();
  int ended_ = 0;
  int preempted_ = 0;                  // of those, ended with kRequeueExitCode
  bool was_signalled_ = false;         // this process
  bool is_stopped_by_signal_ = false;  // the job, by a signal to this process or to the reaper
  bool is_abandoned_ = false;
  JobOutput output_;
  ReaperProcess reaper_;
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
