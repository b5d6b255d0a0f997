#pragma once
/// @file
/// Finds the functions of a C++ file by their braces, without a parser: enough to measure their length.
#include <string>
#include <vector>

#include "course/text_file.hpp"

namespace lockstep::checks {

struct FunctionSpan {
  std::string name;            ///< The identifier before its parameters; "TEST_CASE" for a test.
  std::size_t first_line = 1;  ///< First line of its declaration, counted from 1, without comments above.
  std::size_t last_line = 1;   ///< Its closing brace.

  [[nodiscard]] std::size_t line_count() const noexcept { return last_line - first_line + 1; }
};

/// The file's text with comments, the contents of literals and preprocessor lines blanked; line breaks stay.
[[nodiscard]] std::string code_only(const course::TextFile& file);

/// All function definitions at namespace or class scope. A lambda is part of the function around it.
[[nodiscard]] std::vector<FunctionSpan> find_functions(const course::TextFile& file);

}  // namespace lockstep::checks
