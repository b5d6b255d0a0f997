#pragma once
/// @file
/// How a process ended, in words; as an exit code, exit_code_of() of base/process.hpp.
#include <string>

namespace lockstep::launch {

/// "SIGTERM".
[[nodiscard]] std::string signal_name(int signal);

/// What waitpid() says of an ended process: "exited with code 3", "was killed by SIGSEGV (Segmentation fault)".
[[nodiscard]] std::string describe_end(int status);

/// Whether SIGKILL ended it. That never follows from what another rank did; SIGABRT may.
[[nodiscard]] bool was_killed_from_outside(int status);

}  // namespace lockstep::launch
