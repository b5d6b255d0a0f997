#pragma once
/// @file
/// Starting programs. Everything here uses posix_spawn(3), which is safe with any number of threads. Nothing else in
/// the project starts programs, except for the reaper and the guardian of ranks: they have one thread each, and fork.
#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.hpp"

namespace lockstep {

/// Passes a descriptor of this process to a new one, under another number.
struct PassedDescriptor {
  int number;  ///< In the new process.
  int fd;      ///< Here; stays open.
};

/// Signals of a new process. All signals that are not ignored get their default action.
struct InheritedSignals {
  sigset_t blocked{};
  sigset_t ignored{};  ///< These keep SIG_IGN.
};

/// How a program is started.
struct ProcessStart {
  std::vector<std::string> command = {};                     ///< A path, or a name in PATH; then arguments.
  std::optional<std::vector<std::string>> environment = {};  ///< All of it, as NAME=value. Unset: this process's.
  std::filesystem::path folder = {};                         ///< Working directory. Empty: this process's.
  /// Descriptors for the new process, besides or instead of standard input, output and error. It gets no other
  /// descriptor of this process, not even one that was opened without FD_CLOEXEC.
  std::vector<PassedDescriptor> descriptors = {};
  std::vector<int> empty_streams = {};  ///< Which of 0, 1 and 2 are /dev/null in the new process.
  bool leads_group = false;             ///< It gets its own process group; Ctrl-C in a terminal does not reach it.
  std::optional<InheritedSignals> signals = {};  ///< Unset: this process's.
};

/// Starts a program.
/// @return  Its process id. The caller must wait for it.
/// @throws IoError  It cannot be started, or there are no descriptors left.
[[nodiscard]] pid_t start_process(ProcessStart start);

/// Replaces this process with a program, which keeps its process id, terminal and signals. Returns only by throwing.
/// @throws IoError  It cannot be started.
[[noreturn]] void become_program(const std::vector<std::string>& command);

/// The exit code of a waitpid() status, as in shells: the exit code, or 128 + signal.
[[nodiscard]] int exit_code_of(int wait_status) noexcept;

/// Waits for a child to end. @return  As exit_code_of(). @throws IoError  It is not a child of this process.
int wait_for_process(pid_t pid);

/// Two connected ends, both closed on exec.
struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};
/// @throws IoError  There are no descriptors left.
[[nodiscard]] Pipe make_pipe();

/// Appends available data to `text`; at most 1 MiB, so that a writer that never pauses cannot hold up the caller.
/// Closes `fd` at the end of the stream.
/// @param most  Limits the length of `text`; more is dropped. @pre  `fd` is O_NONBLOCK.
void read_available(UniqueFd& fd, std::string& text, std::size_t most = std::numeric_limits<std::size_t>::max());

/// The output that run_process() collects. The rest goes to this process's own output.
enum class Collect {
  kNothing,
  kOutput,
  kErrors,
  kBoth,      ///< Standard output and error, in one text.
  kSeparate,  ///< Standard output and error, in separate texts.
};

/// Limits on a program's run time and on its collected output.
struct ProcessLimits {
  std::optional<std::chrono::milliseconds> time = {};                  ///< Then it is killed, with its process group.
  std::size_t output_bytes = std::numeric_limits<std::size_t>::max();  ///< Of each text; the rest is dropped.
};

/// The result of a program that has ended.
struct FinishedProcess {
  int exit_code = 0;            ///< 128 + signal if one ended it.
  bool is_out_of_time = false;  ///< It was killed at its time limit.
  std::string output;           ///< Standard output, as far as collected; with kBoth, standard error too.
  std::string errors;           ///< Standard error, with kErrors and kSeparate.
};

/// Runs a program to its end. Does not wait for background processes that hold its output open.
/// @throws IoError  It cannot be started.
[[nodiscard]] FinishedProcess run_process(ProcessStart start, Collect collect, const ProcessLimits& limits = {});

}  // namespace lockstep
