#pragma once
/// @file
/// Starts the ranks of a job on this host, forwards their output, and ends all of them when one fails.
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

/// The ranks to run, and time limits.
struct JobOptions {
  std::vector<std::string> command;            ///< Program (a path, or a name found in PATH), then its arguments.
  int world_size = 1;                          ///< Ranks on this host; at least 1.
  OutputStyle style = OutputStyle::kPrefixed;  ///< As JobOutput's.
  Variables variables;                         ///< Further variables for all ranks; they override the launcher's.
  std::string name = "lockstep";               ///< Prefix of the launcher's own lines.
  /// From a failure to SIGTERM: lets the other ranks notice the failure themselves and report it.
  std::chrono::milliseconds settle{1000};
  /// From SIGTERM to SIGKILL: time for a checkpoint. Empty: default_grace() (grace.hpp).
  std::optional<std::chrono::milliseconds> grace;
  /// A signal to the launcher with the same meaning as SIGTERM, such as SIGUSR2; 0: none. Its number is passed to the
  /// ranks (LOCKSTEP_PREEMPT_SIGNAL), because some schedulers send it to them directly.
  int preempt_signal = 0;
  std::shared_ptr<JobLog> log;  ///< Records events and output; may be null.
};

struct JobResult {
  /// 0: all ranks exited with 0. Otherwise that of the first rank to fail (128 + signal; 127: it could not be started),
  /// or 128 + signal if a signal to the launcher ended the job. 75 (kRequeueExitCode of base/preemption.hpp) if SIGTERM
  /// or JobOptions::preempt_signal ended it, even if sent to the ranks directly, and all ranks exited with 75: they
  /// have saved, and the job should be restarted.
  int exit_code = 0;
  std::optional<RankFailure> failure;  ///< The first rank to fail; empty if none did.
};

/// Runs a job to its end.
///
/// The ranks are started by fork and exec from a small separate process, the reaper. Their environment has: RANK,
/// LOCAL_RANK, WORLD_SIZE, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT (as from torchrun; the port is free and not used
/// by other jobs), LOCKSTEP_STORE (a store that this process serves; bound before any rank starts), LOCKSTEP_TOKEN,
/// LOCKSTEP_GENERATION, LOCKSTEP_FLIGHT_DIR, OMP_NUM_THREADS, and with kFirstLive on a terminal
/// LOCKSTEP_PROGRESS=terminal (unless TERM=dumb), LOCKSTEP_TERMINAL (a path by which they ask for the width, which may
/// change) and COLUMNS (the width at the start), since the ranks' own output is a pipe.
/// Its standard input is empty.
///
/// Standard output and standard error of the ranks go to those of this process; a reader that does not read (Ctrl-S)
/// delays nothing until OutputQueue::kMostBytes are queued. When a rank ends with a code other than 0, a line on
/// standard error names it at once; the others get `settle` to end, then SIGTERM, and after `grace` SIGKILL. If another
/// rank is found within `settle` to have been killed by SIGKILL, it becomes the first failure instead.
///
/// SIGINT, SIGTERM or SIGHUP to this process or to the reaper ends all ranks with one SIGTERM each, and after `grace`,
/// or at Ctrl-C (SIGINT) after an earlier signal to this process, with SIGKILL. Signals that were ignored when this
/// process started stay ignored, here and in the ranks (except SIGTERM, which has its default action in the ranks).
/// SIGUSR1 to this process prints the last collectives of all ranks.
///
/// Two processes watch the ranks, the reaper and its guardian. If this process, one watcher, or both of these are
/// killed, the rest of the three kills every process of the job, even one that changed its session or environment. If
/// both watchers are killed, this process kills all processes that have the job's LOCKSTEP_FLIGHT_DIR in their
/// environment. Only if all three are killed at once may processes that ranks have started remain.
///
/// Processes that do not end within 5 s of SIGKILL, because they are stuck in the kernel or belong to another user, are
/// named on standard error, and run_job() returns; the reaper stays until they have ended.
///
/// @throws ContractError  No command, or world_size < 1.
/// @throws FormatError    `grace` is empty, and LOCKSTEP_GRACE_SECONDS is not a number of seconds.
/// @throws IoError        The reaper, a pipe or a port is not available. A rank that cannot be started is not an
///                        exception but the job's failure.
/// @pre  SIGINT, SIGTERM, SIGHUP and SIGUSR1 are not handled by other threads of this process.
/// @post  No process of the job is left, except those named.
[[nodiscard]] JobResult run_job(const JobOptions& options);

/// Runs one host's share of one generation of a job, as run_job(), but the ranks find those of other hosts through
/// `share.variables` instead of a store that this process serves; the first failure here is reported to the other hosts
/// at once, and they print the summary; a failure elsewhere ends this host's ranks like one of their own.
/// @throws  As run_job().
/// @pre  `share.signals` blocks the signals that run_job() names.
[[nodiscard]] JobResult run_share(const JobOptions& options, const HostShare& share);

}  // namespace lockstep::launch
