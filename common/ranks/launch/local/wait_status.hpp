#pragma once
/// @file
/// How a process ended, in words and as an exit code.
#include <string>

namespace lockstep::launch {

/// "SIGTERM".
[[nodiscard]] std::string signal_name(int signal);

/// What waitpid() says of an ended process: "exited with code 3", "was killed by SIGSEGV (Segmentation fault)".
[[nodiscard]] std::string describe_end(int status);

/// Its exit code as shells count: its own, or 128 + signal.
[[nodiscard]] int exit_code_of(int status);

/// Whether SIGKILL ended it. That never follows from what another rank did; SIGABRT may.
[[nodiscard]] bool was_killed_from_outside(int status);

}  // namespace lockstep::launch
