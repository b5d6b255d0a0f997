#pragma once
/// @file
/// Cells of a Markdown table's row, or of a line of columns printed by a program.
#include <optional>
#include <string>
#include <vector>

namespace lockstep::checks {

/// One cell of a line, trimmed.
struct Cell {
  std::size_t begin = 0;  ///< Index of its text in the line.
  std::string text;
};

/// The cells of "| a | b |", or of "a  b": two or more blanks separate the columns of a program's output.
[[nodiscard]] std::vector<Cell> cells_of(const std::string& line);

/// Replaces a cell's text. Columns of output keep their right edge if there is room.
void replace_cell(std::string& line, const Cell& cell, std::string text);

/// The texts between pairs of backticks in a cell.
[[nodiscard]] std::vector<std::string> code_spans(const std::string& text);

/// The number in a cell that contains nothing else: "9.42", "1 KiB" (1024), "4 MiB", "1 GiB".
[[nodiscard]] std::optional<double> number_in(const std::string& text);

}  // namespace lockstep::checks
