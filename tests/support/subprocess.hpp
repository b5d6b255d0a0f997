#pragma once
/// @file
/// A program run by a test: started by fork and exec, its output collected, every wait bounded.
#include <sys/types.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.hpp"

namespace lockstep::test {

/// What a program left behind.
struct Finished {
  int exit_code = -1;  ///< Its own, or 128 + signal.
  std::string out;
  std::string err;
};

/// A running program. Destroying it kills it. Ranks never call Catch2 macros, and neither does this class.
class Subprocess {
 public:
  /// Starts `command` (a path or a name that PATH finds) with this process's environment plus `variables`; those with
  /// an empty value are removed. Its standard input is empty.
  /// @throws IoError  It cannot be started.
  explicit Subprocess(std::vector<std::string> command,
                      const std::vector<std::pair<std::string, std::string>>& variables = {});
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;
  ~Subprocess();

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  /// Does nothing after wait().
  void send_signal(int signal) const;

  /// Standard output as far as it has been read.
  [[nodiscard]] const std::string& out() const noexcept { return finished_.out; }

  /// Reads until standard output or standard error contains `text`.
  /// @return  False where `limit` passed or the output ended first.
  [[nodiscard]] bool wait_for_output(const std::string& text,
                                     std::chrono::milliseconds limit = std::chrono::seconds(20));

  /// What it has written to standard output, as far as it has been read.
  [[nodiscard]] const std::string& output_so_far() const noexcept { return finished_.out; }

  /// Reads all output and waits for the end.
  /// @throws TimeoutError  It still runs after `limit`; holds its output so far. It is then killed.
  Finished wait(std::chrono::milliseconds limit = std::chrono::seconds(100));

 private:
  bool read_some(int timeout_ms);
  void kill_it() noexcept;

  pid_t pid_ = -1;
  UniqueFd out_;
  UniqueFd err_;
  Finished finished_;
};

/// kill(2) for one process. A number that is none, such as the -1 of a process that was not found, is an error here; to
/// kill(2) it means a group of processes, or every process of the machine.
/// @return  False where the process is gone.
/// @throws ContractError  `pid` is below 2. @throws IoError  This user may not signal it.
bool signal_process(pid_t pid, int signal);

/// Runs a program to its end.
[[nodiscard]] Finished run_program(std::vector<std::string> command,
                                   const std::vector<std::pair<std::string, std::string>>& variables = {});

/// Path of a program of this build: one beside the running test, or in the build folder's bin/.
[[nodiscard]] std::string built_program(const std::string& name);

/// Waits until none of the processes exists any more (or is only waiting to be collected).
/// @return  Those that still run after `limit`.
[[nodiscard]] std::vector<pid_t> wait_until_gone(std::vector<pid_t> pids,
                                                 std::chrono::milliseconds limit = std::chrono::seconds(5));

}  // namespace lockstep::test
