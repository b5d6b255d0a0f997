#pragma once
/// @file
/// Text that a submission has had a part in, as text: in Markdown, HTML, XML and spreadsheets.
#include <string>

namespace lockstep::grading {

/// `text` with what XML and HTML reserve written as entities, and without characters that control a reader.
[[nodiscard]] std::string escaped(const std::string& text);

/// `text` on one line of Markdown, in which nothing is a link, a tag, a heading or emphasis.
[[nodiscard]] std::string markdown_line(const std::string& text);

/// `text` as a block of Markdown that shows it as it is. The fence is longer than any row of backticks in it.
[[nodiscard]] std::string markdown_block(const std::string& text);

/// A cell of CSV (RFC 4180). One that a spreadsheet would take for a formula begins with an apostrophe. Semicolons and
/// tabs become commas and spaces: some spreadsheets split lines there, and what follows would be a cell of its own.
[[nodiscard]] std::string csv_cell(const std::string& text);

}  // namespace lockstep::grading
