#pragma once
/// @file
/// Small helpers for building messages.
#include <sstream>
#include <string>

namespace lockstep {

/// Joins its arguments as `operator<<` prints them: `concat("rank ", 2, ": closed")`.
template <typename... Parts>
[[nodiscard]] std::string concat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return std::move(out).str();
}

}  // namespace lockstep
