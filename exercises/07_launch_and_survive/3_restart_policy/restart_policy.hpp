#pragma once
/// @file
/// Given: what happens to a job, what its launcher may do then, and the class that decides it (exercise 07.3).
#include <chrono>

#include "exercise/todo.hpp"

namespace lockstep::elastic {

/// The kinds of events.
enum class EventKind {
  kHostCame,      ///< A host is there with its launcher, and can start ranks.
  kHostLost,      ///< A host has gone without a word. Before the policy hears of it, all other ranks have been ended.
  kHostLeaves,    ///< A host was asked by a signal to end. Before the policy hears of it, all ranks have stopped.
  kRankFailed,    ///< A rank ended by a failure, and then all others were ended.
  kFinished,      ///< All ranks ended with 0.
  kWaitedInVain,  ///< The policy has decided to wait, and too few hosts have come by the deadline.
};

/// One event, as the launchers of all hosts report it.
struct Event {
  EventKind kind = EventKind::kHostCame;  ///< What has happened.
  int exit_code = 0;                      ///< Of the failed rank (kRankFailed); 0 if a signal has killed it.
  int signal = 0;               ///< That has killed the rank (kRankFailed), or that asks the host to end (kHostLeaves).
  bool have_all_saved = false;  ///< All ranks of all hosts have saved and ended with kRequeueExitCode (kHostLeaves).
  bool is_spare = false;        ///< The host had no ranks, because the job had enough (kHostLost, kHostLeaves).
};

/// The launcher's next action.
enum class Action {
  kGoOn,   ///< Nothing: the ranks go on.
  kStart,  ///< Start a generation with the hosts that are there, including spares if the job has room.
  kWait,   ///< Wait until more hosts are there.
  kEnd     ///< End the job.
};

/// What is decided.
struct Decision {
  Action action = Action::kGoOn;  ///< To be done.
  int exit_code = 0;              ///< Of the launcher (kEnd), otherwise 0.
  std::chrono::seconds pause{0};  ///< Before the start (kStart), otherwise 0.
};

/// As the launcher's options say.
struct RestartOptions {
  int min_hosts = 1;     ///< --nnodes MIN:MAX, the job needs so many;
  int max_hosts = 1;     ///< it uses at most so many. The job is elastic if they differ.
  int max_restarts = 0;  ///< --max-restarts: failures after which the job is started again.
};

inline constexpr std::chrono::seconds kFirstPause{1};     ///< Before the first restart.
inline constexpr std::chrono::seconds kLongestPause{30};  ///< Each pause is twice the one before, up to this.

inline constexpr int kSignalCodes = 128;  ///< A shell's exit code for a process that signal s has killed is this + s.
inline constexpr int kInterrupt = 2;      ///< SIGINT, Ctrl-C: somebody does not want the job any more.
inline constexpr int kRequeueExitCode = 75;  ///< "Not finished: start me again", EX_TEMPFAIL of sysexits.h.

/// Decides what happens to one job. It is asked once per event, and its decisions are carried out.
///
/// A failure of a rank, and the loss of a host in a job that is not elastic, are *failures*: each uses up one of
/// max_restarts. Hosts that come, go or are lost in an elastic job are no failures.
class RestartPolicy {
 public:
  /// A job that waits for its first hosts.
  explicit RestartPolicy(const RestartOptions& options) : options_(options) {}

  /// The action to take now.
  [[nodiscard]] Decision decide(const Event& event);

  /// How many restarts have been used up.
  [[nodiscard]] int restart_count() const noexcept { return restart_count_; }

 private:
  [[nodiscard]] bool is_elastic() const noexcept { return options_.min_hosts < options_.max_hosts; }

  /// Starts after `pause` if enough hosts are there; otherwise waits for them.
  [[nodiscard]] Decision start_or_wait(std::chrono::seconds pause);

  /// Uses up a restart, after which start_or_wait() decides; if none is left, ends with `exit_code`.
  [[nodiscard]] Decision restart_or_end(int exit_code);

  RestartOptions options_;
  int hosts_ = 0;            // that are there, with spares
  bool is_running_ = false;  // a generation has been started, and has not ended
  int restart_count_ = 0;
};

}  // namespace lockstep::elastic
