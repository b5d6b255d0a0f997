#pragma once
/// @file
/// Runs a program in a test by fork and exec; collects its output, and bounds every wait.
#include <sys/types.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.hpp"

namespace lockstep::test {

/// The result of a program.
struct Finished {
  int exit_code = -1;  ///< Its exit code, or 128 + signal.
  std::string out;
  std::string err;
};

/// A running program. The destructor kills it. Like a rank, this class never calls Catch2 macros.
class Subprocess {
 public:
  /// Starts `command` (a path or a name on PATH) with this process's environment plus `variables`; an empty value
  /// removes a variable. Its standard input is empty.
  /// @throws IoError  It cannot be started.
  explicit Subprocess(std::vector<std::string> command,
                      const std::vector<std::pair<std::string, std::string>>& variables = {});
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;
  ~Subprocess();

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  /// No effect after wait().
  void send_signal(int signal) const;

  /// The standard output read so far.
  [[nodiscard]] const std::string& out() const noexcept { return finished_.out; }

  /// Reads until standard output or standard error contains `text`.
  /// @return  False if `limit` passed or the output ended first.
  [[nodiscard]] bool wait_for_output(const std::string& text,
                                     std::chrono::milliseconds limit = std::chrono::seconds(20));

  /// The standard output read so far.
  [[nodiscard]] const std::string& output_so_far() const noexcept { return finished_.out; }

  /// Reads all output and waits for the end.
  /// @throws TimeoutError  It still runs after `limit`; contains its output so far. The program is then killed.
  Finished wait(std::chrono::milliseconds limit = std::chrono::seconds(100));

 private:
  bool read_some(int timeout_ms);
  void kill_it() noexcept;

  pid_t pid_ = -1;
  UniqueFd out_;
  UniqueFd err_;
  Finished finished_;
};

/// kill(2) for one process. An invalid id, such as -1 for a process that was not found, is an error here; kill(2) would
/// signal a group of processes, or every process of the machine.
/// @return  False if the process is gone.
/// @throws ContractError  `pid` is below 2. @throws IoError  This user may not signal it.
bool signal_process(pid_t pid, int signal);

/// Runs a program to its end.
[[nodiscard]] Finished run_program(std::vector<std::string> command,
                                   const std::vector<std::pair<std::string, std::string>>& variables = {});

/// Path of a program of this build, next to the running test or in the build folder's bin/.
[[nodiscard]] std::string built_program(const std::string& name);

/// Waits until none of the processes runs any more (it may still wait to be reaped).
/// @return  Those that still run after `limit`.
[[nodiscard]] std::vector<pid_t> wait_until_gone(std::vector<pid_t> pids,
                                                 std::chrono::milliseconds limit = std::chrono::seconds(20));

}  // namespace lockstep::test
