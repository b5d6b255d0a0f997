#pragma once
/// @file
/// Describes how a process ended. For its exit code see exit_code_of() in base/process.hpp.
#include <string>

namespace lockstep::launch {

/// Exit codes of run_guarded() (base/command_line.hpp) for a program that cannot begin: a wrong command line, and a
/// machine that lacks what it needs.
inline constexpr int kUsageExitCode = 2, kUnavailableExitCode = 77;
/// Exit code of a program that SIGINT (or, for our trainers, SIGHUP) has interrupted, and that has ended in good order.
inline constexpr int kInterruptedExitCode = 130;

/// "SIGTERM".
[[nodiscard]] std::string signal_name(int signal);

/// Describes how a rank ended, from waitpid(): "exited with code 3", "was killed by SIGSEGV (Segmentation fault)". A
/// signal that asks for an end was sent to the rank alone: those to a whole job are no failure of a rank.
[[nodiscard]] std::string describe_end(int status);

/// Whether SIGKILL ended it. Another rank's failure never causes that; it may cause SIGABRT.
[[nodiscard]] bool was_killed_from_outside(int status);

}  // namespace lockstep::launch
