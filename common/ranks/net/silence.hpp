#pragma once
/// @file
/// How long the other end of a connection has been silent, for messages.
#include <string>

#include "base/deadline.hpp"

namespace lockstep::net {

/// The length of a wait that ended at its deadline: "5.0 s", or "the last 0.3 s of 5.0 s" if something moved before.
/// @param since  The last time when something moved, or when the wait began.
[[nodiscard]] std::string format_silence(Deadline::Clock::time_point since, const Deadline& deadline);

}  // namespace lockstep::net
