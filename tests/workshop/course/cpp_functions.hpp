#pragma once
/// @file
/// Finds the functions of a C++ file by their braces: enough to measure their length, no parser.
#include <string>
#include <vector>

#include "course/text_file.hpp"

namespace lockstep::checks {

/// One function definition.
struct FunctionSpan {
  std::string name;            ///< The identifier before its parameters; "TEST_CASE" for a test.
  std::size_t first_line = 1;  ///< Where its declaration begins, counted from 1; comments above do not count.
  std::size_t last_line = 1;   ///< Its closing brace.

  [[nodiscard]] std::size_t line_count() const noexcept { return last_line - first_line + 1; }
};

/// The file's text with comments, literals' contents and preprocessor lines blanked; line breaks stay.
[[nodiscard]] std::string code_only(const course::TextFile& file);

/// All function definitions at namespace or class scope. A lambda counts to the function around it.
[[nodiscard]] std::vector<FunctionSpan> find_functions(const course::TextFile& file);

}  // namespace lockstep::checks
