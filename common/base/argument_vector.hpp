#pragma once
/// @file
/// What exec(3) and posix_spawn(3) take.
#include <string>
#include <vector>

namespace lockstep {

/// Pointers to the strings' characters, then a null pointer: an argv or envp.
/// @param strings  Must outlive the result, unchanged.
[[nodiscard]] inline std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace lockstep
