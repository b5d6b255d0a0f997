#pragma once
/// @file
/// How long ranks may take to end after SIGTERM.
#include <chrono>
#include <optional>
#include <string>

namespace lockstep::launch {

/// Limit on the time from SIGTERM to SIGKILL.
inline constexpr std::chrono::seconds kLongestGrace{24 * 3600};

/// LOCKSTEP_GRACE_SECONDS, else 30 s, as with Kubernetes, Slurm and most cloud preemptions.
/// @throws FormatError  The variable is not a number of seconds from 0 to kLongestGrace.
[[nodiscard]] std::chrono::milliseconds default_grace();

/// A number of seconds from 0 to kLongestGrace, fractions allowed; nullopt if `text` is not.
[[nodiscard]] std::optional<std::chrono::milliseconds> parse_grace(const std::string& text);

}  // namespace lockstep::launch
