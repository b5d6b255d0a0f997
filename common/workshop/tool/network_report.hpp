#pragma once
/// @file
/// The part of `lockstep doctor` about what ranks meet through, and what the system allows a process.
#include "tool/machine_report.hpp"

namespace lockstep::tool {

/// Network interfaces (names and speeds, no addresses), whether the host's name resolves, and limits of this process.
[[nodiscard]] FactGroup describe_network();

}  // namespace lockstep::tool
