#pragma once
/// @file
/// `lockstep doctor --test`: jobs of a few ranks that train a tiny model, one job per way to communicate.
#include <optional>
#include <string>
#include <vector>

namespace lockstep::tool {

/// One job.
struct SelfTestRun {
  std::string title;      ///< "ring, TCP"
  std::string backend;    ///< As the program self_test takes it.
  std::string device;     ///< "cpu" or "cuda".
  std::string remedy;     ///< What to do where it fails.
  int world_size = 2;     ///< Ranks.
  bool is_extra = false;  ///< Training works without it.
};

/// How a job ended.
struct SelfTestOutcome {
  int exit_code = 0;             ///< 0: passed; 77: this build or machine lacks something; 124: not finished in time.
  bool was_interrupted = false;  ///< By a signal to this process, such as Ctrl-C.
  std::string last_line;         ///< What the job said, where it failed.
  double small_us = 0;           ///< All-reduce of 1 KiB.
  double bandwidth_gb_s = 0;     ///< Of an all-reduce of 16 MiB.
  double step_ms = 0;            ///< A step of training by all ranks.
  double alone_ms = 0;           ///< The same by one.
};

/// The jobs that this build can be asked for. @param world_size  Ranks of each; as many as there are GPUs on those.
[[nodiscard]] std::vector<SelfTestRun> self_test_runs(int world_size);

/// Starts the ranks of one job, without a line of output, and waits for their end. Nothing of it is left running.
/// @param limit_s  After which the ranks give up, in seconds. Half of it is the time limit of a rank that waits for
///                 another one, at least 10 s.
/// @throws UsageError  The program self_test has not been built.
/// @throws IoError     No processes, no temporary file.
[[nodiscard]] SelfTestOutcome run_self_test(const SelfTestRun& run, double limit_s);

/// Runs all jobs, and prints a table, what failed and what to do, and in the last line whether this machine can train.
/// A job that only ran out of time is called slow, not broken.
/// @param limit_s  For all jobs together, in seconds.
/// @return  The exit code: 0 if it can.
[[nodiscard]] int run_self_tests(int world_size, double limit_s);

/// This process is a rank that another launcher has started, on one of several nodes perhaps: it becomes the program.
/// @param limit_s  After which the ranks give up, in seconds.
[[noreturn]] void join_self_test(double limit_s);

}  // namespace lockstep::tool
