#pragma once
/// @file
/// `lockstep doctor --test`: jobs of a few ranks that train a tiny model, one for each means of communication.
#include <optional>
#include <string>
#include <vector>

namespace lockstep::tool {

struct SelfTestRun {
  std::string title;    ///< "ring, TCP"
  std::string backend;  ///< As the program self_test expects it.
  std::string device;   ///< "cpu" or "cuda".
  std::string remedy;   ///< Advice if it fails.
  int world_size = 2;
  bool is_extra = false;  ///< Training works even if this job fails.
};

struct SelfTestOutcome {
  int exit_code = 0;             ///< 0: passed; 77: this build or machine lacks something; 124: not finished in time.
  bool was_interrupted = false;  ///< By a signal to this process, such as Ctrl-C.
  std::string last_line;         ///< The job's error, if it failed.
  double small_us = 0;           ///< All-reduce of 1 KiB.
  double bandwidth_gb_s = 0;     ///< Of an all-reduce of 16 MiB.
  double step_ms = 0;            ///< A training step by all ranks.
  double alone_ms = 0;           ///< The same step by one rank.
};

/// The jobs that this build supports. @param world_size  Ranks of each job; at most one per GPU for jobs on GPUs.
[[nodiscard]] std::vector<SelfTestRun> self_test_runs(int world_size);

/// Runs one job without output and waits for all its processes to end.
/// @param limit_s  Seconds until the ranks give up. A rank waits half of it for another rank, at least 10 s.
/// @throws UsageError  The program self_test has not been built.
/// @throws IoError     No processes, no temporary file.
[[nodiscard]] SelfTestOutcome run_self_test(const SelfTestRun& run, double limit_s);

/// Runs all jobs, and prints a table, the failures with their remedies and, on the last line, whether this machine can
/// train. A job that only ran out of time is called slow, not broken.
/// @param limit_s  For all jobs together, in seconds.
/// @return  The exit code: 0 if the machine can train.
[[nodiscard]] int run_self_tests(int world_size, double limit_s);

/// For a process that another launcher started as a rank, perhaps on one of several nodes: replaces it by the program.
/// @param limit_s  Seconds until the ranks give up.
[[noreturn]] void join_self_test(double limit_s);

}  // namespace lockstep::tool
