#pragma once
/// @file
/// The network part of `lockstep doctor`, with the limits of this process.
#include "tool/machine_report.hpp"

namespace lockstep::tool {

/// Network interfaces (names and speeds, no addresses), whether the host's name resolves, and limits of this process.
[[nodiscard]] FactGroup describe_network();

}  // namespace lockstep::tool
