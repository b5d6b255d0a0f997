#pragma once
/// @file
/// Output for people: numbers with fixed digits, aligned columns, colours if they are wanted.
#include <string>
#include <vector>

namespace lockstep {

/// A fixed number of decimals: with_digits(2.0, 3) is "2.000".
[[nodiscard]] std::string with_digits(double value, int digits);

/// Rows of text in aligned columns: the first column left-aligned, all others right-aligned, two spaces between them.
/// Characters are counted as bytes, so cells should be ASCII. A value type.
class TextTable {
 public:
  /// Rows may differ in length.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  /// All rows, each ending in a newline, without trailing spaces.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// Whether a program should write colours to `fd`: it is a terminal, and the variable NO_COLOR is unset or empty.
/// @source no-color.org, "NO_COLOR" (2017).
[[nodiscard]] bool wants_colours(int fd);

}  // namespace lockstep
