#pragma once
/// @file
/// Makes a judged process's stack traces readable.
#include <string>
#include <vector>

#include "exercise/trial.hpp"

namespace lockstep::exercise {

/// The calls of a stack that a process has written (kStackMark), as "function at file:line". Frames in files below
/// `source_folder` come first, so the first line is in the author's own code. Empty if there is no stack.
/// @param subject  The process's program. addr2line(1), which reads its debug information, runs in its sandbox.
[[nodiscard]] std::vector<std::string> stack_lines(const std::string& output, const Subject& subject);

/// `output` without its stack lines.
[[nodiscard]] std::string without_stack(const std::string& output);

/// The last lines, at most `most`.
[[nodiscard]] std::vector<std::string> last_lines(const std::string& text, std::size_t most);

}  // namespace lockstep::exercise
