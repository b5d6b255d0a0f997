#pragma once
/// @file
/// Starts the ranks of a job on this host, passes their output on, and ends all of them when one fails.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launch/hosts/host_share.hpp"
#include "launch/local/output_merger.hpp"
#include "launch/rank_environment.hpp"

namespace lockstep::launch {

class JobLog;

/// What to run, and how patiently.
struct JobOptions {
  std::vector<std::string> command;  ///< Program (a path, or a name that PATH finds), then its arguments.
  int world_size = 1;                ///< Ranks on this host; at least 1.
  OutputStyle style =
      OutputStyle::kPrefixed;     ///< kFirstLive counts as kFirstPlain where standard output is no terminal.
  Variables variables;            ///< Further variables for all ranks; they win over the launcher's own.
  std::string name = "lockstep";  ///< Begins the launcher's own lines.
  /// After a failure, before SIGTERM: lets the other ranks notice by themselves and say what they saw.
  std::chrono::milliseconds settle{1000};
  /// From SIGTERM to SIGKILL: time for a checkpoint. Empty: default_grace() (grace.hpp).
  std::optional<std::chrono::milliseconds> grace;
  /// A signal to the launcher that means the same as SIGTERM, such as SIGUSR2; 0: none. The ranks learn of it
  /// (LOCKSTEP_PREEMPT_SIGNAL), because some schedulers send it to them directly.
  int preempt_signal = 0;
  std::shared_ptr<JobLog> log;  ///< Where events and output are kept; null: nowhere.
};

/// How a job ended.
struct JobResult {
  /// 0: all ranks ended with 0. Else that of the first rank to fail (128 + signal; 127: it could not be started), or
  /// 128 + signal where a signal to the launcher ended the job. 75 (kRequeueExitCode of base/preemption.hpp) where
  /// SIGTERM or JobOptions::preempt_signal did and all ranks have ended with 75: they have saved, and the job is to be
  /// started again. The same where ranks were asked directly.
  int exit_code = 0;
  std::optional<RankFailure> failure;  ///< Of the first rank to fail; empty: none did.
};

/// Runs a job to its end.
///
/// Each rank is started by fork and exec from a small process of its own, the reaper, and finds in its environment:
/// RANK, LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT (as from torchrun; the port is free and
/// given to no other job), LOCKSTEP_STORE (a store that this process serves; bound before any rank starts),
/// LOCKSTEP_TOKEN, LOCKSTEP_GENERATION, LOCKSTEP_FLIGHT_DIR, OMP_NUM_THREADS, and with kFirstLive on a terminal
/// LOCKSTEP_PROGRESS=terminal and COLUMNS, since the ranks' own output is a pipe.
/// Its standard input is empty.
///
/// Standard output and standard error of the ranks go to those of this process; a reader that does not read (Ctrl-S)
/// holds nothing up before OutputQueue::kMostBytes wait. When a rank ends with anything but 0, a line on standard error
/// names it at once; the others get `settle`, then SIGTERM, then after `grace` SIGKILL. A rank that turns out within
/// `settle` to have been killed by SIGKILL takes its place as the first failure.
///
/// SIGINT, SIGTERM or SIGHUP to this process or to the reaper ends all ranks with one SIGTERM each, and after `grace`,
/// or at Ctrl-C (SIGINT) after an earlier signal to this process, with SIGKILL. Signals that were ignored when this
/// process was started stay ignored, here and in the ranks (SIGTERM alone has its default action in the ranks). SIGUSR1
/// to this process prints the last collectives of all ranks.
///
/// Two processes watch, the reaper and its guardian. When this process, one of the watchers, or this process and one of
/// them are killed, what is left of the three kills every process of the job, whatever it is and whatever it did to its
/// session or environment. When both watchers are killed, this process kills what still has
/// LOCKSTEP_FLIGHT_DIR of the job in its environment. Only when all three are killed at once, what ranks have started
/// may stay.
///
/// What does not end within 5 s of SIGKILL, because it waits in the kernel or belongs to another user, is named on
/// standard error, and run_job() returns; the reaper stays until it has ended.
///
/// @throws ContractError  No command, or world_size < 1.
/// @throws FormatError    `grace` is empty, and LOCKSTEP_GRACE_SECONDS is no number of seconds.
/// @throws IoError        The reaper, a pipe or a port is not to be had. A rank that cannot be started is no
///                        exception: it is the job's failure.
/// @pre  SIGINT, SIGTERM, SIGHUP and SIGUSR1 are not handled by other threads of this process.
/// @post No process of the job is left, but for what was named.
[[nodiscard]] JobResult run_job(const JobOptions& options);

/// One host's share of one generation of a job: as run_job(), but for what the share says. Ranks of other hosts are
/// found by `share.variables` in place of a store that this process serves; the first failure here is reported to the
/// others at once and summed up by them; a failure elsewhere ends this host's ranks as one of their own does.
/// @throws  As run_job().
/// @pre  `share.signals` blocks the signals that run_job() names.
[[nodiscard]] JobResult run_share(const JobOptions& options, const HostShare& share);

}  // namespace lockstep::launch
