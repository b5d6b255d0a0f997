#pragma once
/// @file
/// The processes of a job, as /proc shows them.
#include <sys/types.h>

#include <string>
#include <vector>

#include "base/deadline.hpp"

namespace lockstep::launch {

/// Children, grandchildren and so on of `ancestor`, as /proc shows them at this moment; ended ones that nobody has
/// waited for are left out. A process whose parent has ended counts below whichever process inherited it.
/// @cost  One pass over /proc.
[[nodiscard]] std::vector<pid_t> descendants_of(pid_t ancestor);

/// Processes of this user that have `variable` ("NAME=value") in the environment they were started with; this process
/// and ended ones are left out.
/// @cost  One pass over /proc.
[[nodiscard]] std::vector<pid_t> processes_with(const std::string& variable);

/// Sends SIGKILL to what processes_with() finds, until that is nothing.
/// @return  What is left at the deadline.
[[nodiscard]] std::vector<pid_t> kill_processes_with(const std::string& variable, const Deadline& deadline);

/// "sleep (process 123), sh (process 124)".
[[nodiscard]] std::string describe_processes(const std::vector<pid_t>& pids);

/// Name of a process as `ps` shows it, at most 15 characters; empty where it has ended.
[[nodiscard]] std::string name_of_process(pid_t pid);

}  // namespace lockstep::launch
