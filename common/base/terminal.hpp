#pragma once
/// @file
/// What programs print for people: numbers with fixed digits, aligned columns, colours where they are wanted.
#include <string>
#include <vector>

namespace lockstep {

/// A fixed number of digits behind the point: with_digits(2.0, 3) is "2.000".
[[nodiscard]] std::string with_digits(double value, int digits);

/// Rows of text in aligned columns: the first column to the left, all others to the right, two blanks between them.
/// Characters are counted as bytes, so cells should be ASCII. A value type.
class TextTable {
 public:
  /// Adds a row; rows may differ in length.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  /// All rows, each ending in a newline, without blanks at their ends.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// Whether a program should write colours to `fd`: it is a terminal, and the variable NO_COLOR is unset or empty.
/// @source no-color.org, "NO_COLOR" (2017).
[[nodiscard]] bool wants_colours(int fd);

}  // namespace lockstep
