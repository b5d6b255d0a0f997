#include "quoted_messages.hpp"

#include <algorithm>
#include <cctype>
#include <regex>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "course/text_file.hpp"
#include "table_cells.hpp"

namespace lockstep::checks {

namespace {

constexpr std::string_view kAnyText = "…";

// All sources that print messages, and the script.
std::string text_of_sources(const std::filesystem::path& root) {
  const std::vector<std::string> files = project_files(root);
  std::string text;
  for (const std::string& path : select_files(files, "", {".cpp", ".hpp", ".cu", ".cuh"})) {
    if (path.starts_with("tests/")) continue;
    for (const std::string& line : read_project_file(root, path).lines) text += line + "\n";
  }
  if (std::ranges::find(files, "lockstep") != files.end()) {
    for (const std::string& line : read_project_file(root, "lockstep").lines) text += line + "\n";
  }
  return text;
}

// The texts between the `…` of a message, without pieces of mere punctuation.
std::vector<std::string> fixed_parts(std::string_view message) {
  std::vector<std::string> parts;
  while (!message.empty()) {
    const std::size_t end = std::min(message.find(kAnyText), message.size());
    const std::string_view part = course::trim(message.substr(0, end));
    if (std::ranges::any_of(part, [](unsigned char c) { return std::isalpha(c) != 0; })) parts.emplace_back(part);
    message.remove_prefix(std::min(end + kAnyText.size(), message.size()));
  }
  return parts;
}

}  // namespace

Problems check_quoted_messages(const std::filesystem::path& root, const std::string& path) {
  const course::TextFile page = read_project_file(root, path);
  const std::string sources = text_of_sources(root);
  Problems problems;
  bool has_messages = false;
  for (std::size_t index = 0; index < page.lines.size(); ++index) {
    const std::string& line = page.lines[index];
    if (!line.starts_with('|')) {
      has_messages = false;
      continue;
    }
    const std::vector<Cell> cells = cells_of(line);
    if (cells.empty()) continue;
    has_messages = has_messages || cells.front().text == "message";
    if (!has_messages) continue;
    for (const std::string& message : code_spans(cells.front().text)) {
      for (const std::string& part : fixed_parts(message)) {
        if (sources.find(part) == std::string::npos)
          problems.push_back(concat(page.place(index), ": no source has \"", part, "\""));
      }
    }
  }
  return problems;
}

}  // namespace lockstep::checks
