#pragma once
/// @file
/// Small helpers for building messages.
#include <sstream>
#include <string>
#include <type_traits>

namespace lockstep {

namespace detail {

/// Prints `part`; a NaN without its sign, which depends on the processor and means nothing.
template <typename Part>
void append_part(std::ostringstream& out, const Part& part) {
  if constexpr (std::is_floating_point_v<Part>) {
    if (part != part) {
      out << "nan";
      return;
    }
  }
  out << part;
}

}  // namespace detail

/// Joins its arguments as `operator<<` prints them, NaN always as "nan": `concat("rank ", 2, ": closed")`.
template <typename... Parts>
[[nodiscard]] std::string concat(const Parts&... parts) {
  std::ostringstream out;
  (detail::append_part(out, parts), ...);
  return std::move(out).str();
}

}  // namespace lockstep
