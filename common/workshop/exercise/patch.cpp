#include "exercise/patch.hpp"

#include <algorithm>
#include <sstream>

#include "base/error.hpp"

namespace lockstep::exercise {
namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
  std::istringstream in(text);
  Lines lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

void add_line(Patch& patch, const std::string& line) {
  if (line.starts_with("@@ ")) {
    patch.hunks.emplace_back();
    return;
  }
  if (patch.hunks.empty()) throw FormatError(concat("\"", line, "\" belongs to no hunk of the patch"));
  const char kind = line.empty() ? ' ' : line[0];  // editors strip the blank from an empty line
  if (kind != ' ' && kind != '-' && kind != '+') throw FormatError(concat("\"", line, "\" is not a line of a patch"));
  const std::string content = line.empty() ? "" : line.substr(1);
  if (kind != '+') patch.hunks.back().before.push_back(content);
  if (kind != '-') patch.hunks.back().after.push_back(content);
}

// Finds the only occurrence of `sought` in `lines`, from `first` on.
Lines::iterator only_place_of(const Lines& sought, Lines& lines, std::ptrdiff_t first) {
  const auto found = std::search(lines.begin() + first, lines.end(), sought.begin(), sought.end());
  if (found == lines.end())
    throw FormatError(concat("the patch does not apply: \"", sought.front(), "\" is not there"));
  if (std::search(found + 1, lines.end(), sought.begin(), sought.end()) != lines.end())
    throw FormatError(concat("the patch applies in several places: \"", sought.front(), "\""));
  return found;
}

}  // namespace

Patch parse_patch(const std::string& text) {
  Patch patch;
  bool is_head = true;
  for (const std::string& line : lines_of(text)) {
    if (line.starts_with("--- ")) {
      if (!is_head) throw FormatError("a patch changes one file");
      is_head = false;
    } else if (is_head) {
      patch.head += line + "\n";
    } else if (line.starts_with("+++ b/")) {
      patch.file = line.substr(6, line.find('\t') - 6);
    } else {
      add_line(patch, line);
    }
  }
  if (patch.file.empty() || patch.hunks.empty()) throw FormatError("the patch changes no file");
  return patch;
}

std::string apply_patch(const Patch& patch, const std::string& text) {
  Lines lines = lines_of(text);
  std::ptrdiff_t done = 0;
  for (const Hunk& hunk : patch.hunks) {
    if (hunk.before.empty()) throw FormatError("a hunk of the patch says nothing about its place");
    const auto place = only_place_of(hunk.before, lines, done);
    const auto end = place + static_cast<std::ptrdiff_t>(hunk.before.size());
    const auto inserted = lines.insert(lines.erase(place, end), hunk.after.begin(), hunk.after.end());
    done = inserted - lines.begin() + static_cast<std::ptrdiff_t>(hunk.after.size());
  }
  std::string result;
  for (const std::string& line : lines) result += line + "\n";
  return result;
}

}  // namespace lockstep::exercise
