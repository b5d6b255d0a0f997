#pragma once
/// @file
/// Quotes text influenced by a submission safely in Markdown, HTML, XML and spreadsheets.
#include <string>

namespace lockstep::grading {

/// `text` with entities for the reserved characters of XML and HTML, and without control characters.
[[nodiscard]] std::string escaped(const std::string& text);

/// `text` on one line of Markdown, without links, tags, headings or emphasis.
[[nodiscard]] std::string markdown_line(const std::string& text);

/// `text` verbatim as a block of Markdown. The fence is longer than any row of backticks in it.
[[nodiscard]] std::string markdown_block(const std::string& text);

/// A cell of CSV (RFC 4180). An apostrophe is put before text that a spreadsheet would take for a formula. Semicolons
/// and tabs become commas and spaces, because some spreadsheets split lines there.
[[nodiscard]] std::string csv_cell(const std::string& text);

}  // namespace lockstep::grading
