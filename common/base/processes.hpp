#pragma once
/// @file
/// Running processes, from /proc.
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/deadline.hpp"

namespace lockstep {

/// The state of a process or thread.
struct ProcessState {
  char state = 'X';  ///< As `ps` shows it: R, S, D, Z ...; X if there is no such process.
  pid_t parent = 0;
  std::int64_t user_ticks = 0;    ///< Processor time in its own code, in ticks of sysconf(_SC_CLK_TCK).
  std::int64_t kernel_ticks = 0;  ///< Processor time in the kernel.
};

/// @param folder  "/proc/PID", or "/proc/PID/task/TID" for a thread.
[[nodiscard]] ProcessState read_process_state(const std::filesystem::path& folder);
[[nodiscard]] ProcessState read_process_state(pid_t pid);

/// The folders of a process's threads, "/proc/PID/task/TID"; none if it has ended.
[[nodiscard]] std::vector<std::filesystem::path> threads_of(pid_t pid);

/// The children that the kernel lists for a process, ended ones too. @cost  Few system calls; a child may be missing
/// while another one ends.
[[nodiscard]] std::vector<pid_t> children_of(pid_t pid);

/// A process and its descendants, parents before children, from children_of(): for frequent polling.
[[nodiscard]] std::vector<pid_t> family_of(pid_t pid);

/// Children, grandchildren and so on of `ancestor`, as /proc shows them now, without zombies. A process whose parent
/// has ended counts below the process that inherited it.
/// @cost  One pass over /proc.
[[nodiscard]] std::vector<pid_t> descendants_of(pid_t ancestor);

/// Processes of this user that were started with `variable` ("NAME=value") in their environment, without this process
/// and zombies.
/// @cost  One pass over /proc.
[[nodiscard]] std::vector<pid_t> processes_with(const std::string& variable);

/// Sends SIGKILL to the processes that processes_with() finds, until there are none.
/// @return  Those left at the deadline.
[[nodiscard]] std::vector<pid_t> kill_processes_with(const std::string& variable, const Deadline& deadline);

/// "sleep (process 123), sh (process 124)".
[[nodiscard]] std::string describe_processes(const std::vector<pid_t>& pids);

/// As `ps` shows it, at most 15 characters; empty if it has ended.
[[nodiscard]] std::string name_of_process(pid_t pid);

}  // namespace lockstep
