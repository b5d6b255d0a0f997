#pragma once
/// @file
/// Replacing all occurrences of one text within another.
#include <string>
#include <string_view>

namespace lockstep {

/// Replaces every occurrence of `from` with `to`, from left to right; inserted text is not searched again.
/// @param from  Not empty.
[[nodiscard]] inline std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

}  // namespace lockstep
