#pragma once
/// @file
/// Programs that this one starts. Everything here uses posix_spawn(3), which is safe with any number of threads;
/// nothing else in the project starts a program, but for the reaper and the guardian of ranks, which have one thread
/// each and fork.
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

/// A descriptor of this process that a new one gets under a number of its own.
struct PassedDescriptor {
  int number;  ///< In the new process.
  int fd;      ///< Here; stays open.
};

/// Signals of a new process. All that are not ignored get their default action.
struct InheritedSignals {
  sigset_t blocked{};  ///< Its mask.
  sigset_t ignored{};  ///< These keep SIG_IGN.
};

/// How a program is started.
struct ProcessStart {
  std::vector<std::string> command = {};                     ///< A path, or a name that PATH finds; then arguments.
  std::optional<std::vector<std::string>> environment = {};  ///< NAME=value: all that it gets. Unset: this process's.
  std::filesystem::path folder = {};                         ///< In which it begins. Empty: this process's.
  /// What it gets beside standard input, output and error, or in their place. It gets no other descriptor of this
  /// process, not even one that somebody has left open without FD_CLOEXEC.
  std::vector<PassedDescriptor> descriptors = {};
  std::vector<int> empty_streams = {};  ///< Of 0, 1 and 2: those that are /dev/null there.
  bool leads_group = false;             ///< It has a process group of its own; Ctrl-C in a terminal does not reach it.
  std::optional<InheritedSignals> signals = {};  ///< Unset: this process's.
};

/// Starts a program.
/// @return  Its number. The caller waits for it.
/// @throws IoError  It cannot be started, or there are no descriptors left.
[[nodiscard]] pid_t start_process(ProcessStart start);

/// Becomes a program, with this process's number, terminal and signals. Returns only by throwing.
/// @throws IoError  It cannot be started.
[[noreturn]] void become_program(const std::vector<std::string>& command);

/// What waitpid() has reported, as shells do: the exit code, or 128 + signal.
[[nodiscard]] int exit_code_of(int wait_status) noexcept;

/// Waits for the end of a child. @return  As exit_code_of(). @throws IoError  It is no child of this process.
int wait_for_process(pid_t pid);

/// Two connected ends, both closed on exec.
struct Pipe {
  UniqueFd read_end;   ///< Where bytes come out.
  UniqueFd write_end;  ///< Where they are put in.
};
/// @throws IoError  There are no descriptors left.
[[nodiscard]] Pipe make_pipe();

/// Appends what can be read now, at most 1 MiB, so that who writes without pause does not keep the caller; closes `fd`
/// at the end of the stream. @param most  What would make `text` longer than this is dropped. @pre  `fd` is O_NONBLOCK.
void read_available(UniqueFd& fd, std::string& text, std::size_t most = std::numeric_limits<std::size_t>::max());

/// What run_process() keeps of a program's output. The rest goes where this process's output goes.
enum class Collect {
  kNothing,
  kOutput,    ///< Standard output.
  kErrors,    ///< Standard error.
  kBoth,      ///< Both, in one text.
  kSeparate,  ///< Both, in a text each.
};

/// How long a program may run, and how much is kept of what it writes.
struct ProcessLimits {
  std::optional<std::chrono::milliseconds> time = {};                  ///< Then it is killed, with its group.
  std::size_t output_bytes = std::numeric_limits<std::size_t>::max();  ///< Of each text; what is more is dropped.
};

/// What a program left behind.
struct FinishedProcess {
  int exit_code = 0;            ///< 128 + signal if one ended it.
  bool is_out_of_time = false;  ///< It was killed at its limit.
  std::string output;           ///< Standard output, as far as collected; with kBoth, standard error too.
  std::string errors;           ///< Standard error, with kErrors and kSeparate.
};

/// Runs a program to its end. Does not wait for what it may leave running with its output open.
/// @throws IoError  It cannot be started.
[[nodiscard]] FinishedProcess run_process(ProcessStart start, Collect collect, const ProcessLimits& limits = {});

}  // namespace lockstep
