#pragma once
/// @file
/// Describes how a process ended. For its exit code see exit_code_of() in base/process.hpp.
#include <string>

namespace lockstep::launch {

/// "SIGTERM".
[[nodiscard]] std::string signal_name(int signal);

/// Describes a status from waitpid(): "exited with code 3", "was killed by SIGSEGV (Segmentation fault)".
[[nodiscard]] std::string describe_end(int status);

/// Whether SIGKILL ended it. Another rank's failure never causes that; it may cause SIGABRT.
[[nodiscard]] bool was_killed_from_outside(int status);

}  // namespace lockstep::launch
