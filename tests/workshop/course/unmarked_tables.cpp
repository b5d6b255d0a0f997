// Finds tables of times and rates without a source.
#include <algorithm>
#include <cctype>
#include <optional>
#include <regex>
#include <sstream>

#include "base/text.hpp"
#include "course/text_file.hpp"
#include "measured.hpp"
#include "table_cells.hpp"

namespace lockstep::checks {

namespace {

using Lines = std::vector<std::string>;

// Units of measurements, at the end of a header (`measured us`) or of a cell (`3.4 GB/s`).
const std::regex& unit() {
  static const std::regex kUnit(
      R"((^|[\s(,])(us|ms|ns|s|[MG]i?B/s|tok/s|tokens/s|microseconds|milliseconds|seconds)\)?$)", std::regex::icase);
  return kUnit;
}

bool is_number(const Cell& cell) { return number_in(cell.text).has_value(); }

bool is_number_with_unit(const Cell& cell) {
  return std::regex_search(cell.text, unit()) && std::isdigit(static_cast<unsigned char>(cell.text.front())) != 0;
}

bool names_unit(const std::string& text) {
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (word != "s" && std::regex_search(word, unit())) return true;
  }
  return false;
}

// True if rows [first, behind) under a header contain times or rates. `above` is the text before them.
bool has_measurements(const Lines& lines, std::size_t first, std::size_t behind, const std::string& above) {
  if (first == behind) return false;
  const auto header = cells_of(lines[first]);
  const bool has_unit = names_unit(above) || std::ranges::any_of(header, [](const Cell& cell) {
                          return std::regex_search(cell.text, unit());
                        });
  for (std::size_t index = first + 1; index < behind; ++index) {
    const auto cells = cells_of(lines[index]);
    if (std::ranges::any_of(cells, is_number_with_unit)) return true;
    if (has_unit && std::ranges::any_of(cells, is_number)) return true;
  }
  return false;
}

// The last lines of text above `index`; nothing if they end in a comment that names the numbers' source.
std::optional<std::string> paragraph_above(const Lines& lines, std::size_t index) {
  while (index > 0 && course::trim(lines[index - 1]).empty()) --index;
  std::string text;
  for (; index > 0 && !course::trim(lines[index - 1]).empty(); --index) {
    if (course::trim(lines[index - 1]).ends_with("-->") && text.empty()) return std::nullopt;
    text = lines[index - 1] + " " + text;
  }
  return text;
}

}  // namespace

Problems check_unmarked_tables(const course::MarkdownFile& file) {
  const Lines& lines = file.text.lines;
  Problems problems;
  const auto look_at = [&](std::size_t place, std::size_t first, std::size_t behind) {
    const auto above = paragraph_above(lines, place);
    if (above && has_measurements(lines, first, behind, *above)) {
      problems.push_back(concat(file.text.place(place),
                                " has times or rates without <!-- measured: ... --> (or "
                                "<!-- not measured -->) above them"));
    }
  };
  for (std::size_t first = 0; first < lines.size(); ++first) {
    if (!file.prose[first].starts_with('|')) continue;
    std::size_t behind = first;
    while (behind < lines.size() && file.prose[behind].starts_with('|')) ++behind;
    look_at(first, first, behind);
    first = behind - 1;
  }
  for (const course::FencedBlock& block : file.blocks) {
    if (block.language != "" && block.language != "text") continue;
    if (course::line_range_in(block.line_above)) continue;  // an excerpt: check_excerpts compares it
    look_at(block.first_index, block.first_index + 1, block.first_index + 1 + block.lines.size());
  }
  return problems;
}

}  // namespace lockstep::checks
