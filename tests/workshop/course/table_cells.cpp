#include "table_cells.hpp"

#include <regex>

namespace lockstep::checks {

std::vector<Cell> cells_of(const std::string& line) {
  static const std::regex kOfTable(R"([^|\s]+( +[^|\s]+)*)"), kOfOutput(R"(\S+( \S+)*)");
  const std::regex& form = line.starts_with('|') ? kOfTable : kOfOutput;
  std::vector<Cell> cells;
  for (std::sregex_iterator match(line.begin(), line.end(), form); match != std::sregex_iterator(); ++match) {
    cells.push_back({static_cast<std::size_t>(match->position()), match->str()});
  }
  return cells;
}

void replace_cell(std::string& line, const Cell& cell, std::string text) {
  const bool is_output = !line.starts_with('|');
  std::size_t begin = cell.begin, size = cell.text.size();
  if (is_output && text.size() < size) text.insert(0, size - text.size(), ' ');
  while (is_output && size < text.size() && begin > 2 && line.substr(begin - 3, 3) == "   ") --begin, ++size;
  line.replace(begin, size, text);
}

std::vector<std::string> code_spans(const std::string& text) {
  static const std::regex kCode("`([^`]+)`");
  std::vector<std::string> all;
  for (std::sregex_iterator match(text.begin(), text.end(), kCode); match != std::sregex_iterator(); ++match) {
    all.push_back((*match)[1]);
  }
  return all;
}

std::optional<double> number_in(const std::string& text) {
  static const std::regex kForm(R"((-?\d+(\.\d+)?)( ([KMG])iB)?)");
  std::smatch match;
  if (!std::regex_match(text, match, kForm)) return std::nullopt;
  const std::string unit = match[4];
  const double factor = unit.empty() ? 1 : unit == "K" ? 0x1p10 : unit == "M" ? 0x1p20 : 0x1p30;
  return std::stod(match[1]) * factor;
}

}  // namespace lockstep::checks
