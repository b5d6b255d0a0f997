#pragma once
/// @file
/// How long ranks may take to end after SIGTERM.
#include <chrono>
#include <optional>
#include <string>

namespace lockstep::launch {

/// The longest time from SIGTERM to SIGKILL that can be asked for.
inline constexpr std::chrono::seconds kLongestGrace{24 * 3600};

/// LOCKSTEP_GRACE_SECONDS, else 30 s: what Kubernetes, Slurm and most preemptions of a cloud leave.
/// @throws FormatError  The variable is no number of seconds from 0 to kLongestGrace.
[[nodiscard]] std::chrono::milliseconds default_grace();

/// A number of seconds from 0 to kLongestGrace, whole or not; nothing where `text` is none.
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_grace(const std::string& text);

}  // namespace lockstep::launch
