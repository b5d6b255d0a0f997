#pragma once
/// @file
/// What a judged process wrote about itself, made readable.
#include <string>
#include <vector>

#include "exercise/trial.hpp"

namespace lockstep::exercise {

/// The calls of a stack that a process has written (kStackMark), as "function at file:line"; frames in files below
/// `source_folder` come first, so the first line is where the author looks. Empty where there is no stack.
/// @param subject  What the process runs. addr2line(1), which reads its debug information, runs in its sandbox.
[[nodiscard]] std::vector<std::string> stack_lines(const std::string& output, const Subject& subject);

/// The output without the lines of stacks.
[[nodiscard]] std::string without_stack(const std::string& output);

/// At most so many lines, the last ones.
[[nodiscard]] std::vector<std::string> last_lines(const std::string& text, std::size_t most);

}  // namespace lockstep::exercise
