#pragma once
/// @file
/// How a job is told to make room for another one, and how it asks to be restarted.
#include <optional>
#include <string>

namespace lockstep {

/// Exit status of a rank that saved its unfinished training because it was asked to stop, and of its launcher. Starting
/// the job again resumes it. The value is EX_TEMPFAIL of sysexits.h: "try again later".
inline constexpr int kRequeueExitCode = 75;

/// The environment variable that names a signal to treat like SIGTERM: "SIGUSR2", "USR2" or its number. It is meant for
/// Slurm's --signal=USR2@60, which sends the signal to every process of a step.
inline constexpr const char* kPreemptSignalVariable = "LOCKSTEP_PREEMPT_SIGNAL";

/// The number of a signal that may ask for a stop: SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU or a real-time signal.
/// @param text  "SIGUSR2", "USR2", "12", "SIGRTMIN+3". @return  Nothing if it is none of these.
[[nodiscard]] std::optional<int> parse_preempt_signal(const std::string& text);

/// The signal named by kPreemptSignalVariable; nothing if that is unset. @throws FormatError  It names no valid signal.
[[nodiscard]] std::optional<int> preempt_signal_of_environment();

}  // namespace lockstep
