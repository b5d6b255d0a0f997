#include "exercise/template.hpp"

#include <algorithm>
#include <sstream>

#include "base/error.hpp"

namespace lockstep::exercise {
namespace {

constexpr std::string_view kBegin = "// SOLUTION(";
constexpr std::string_view kEnd = "// END SOLUTION";
constexpr std::string_view kFaulty = "//|";  // a line of faulty code, which replaces the right one in the template

std::string trimmed(const std::string& line) {
  const std::size_t begin = line.find_first_not_of(' ');
  return begin == std::string::npos ? "" : line.substr(begin);
}

// The parts of "// SOLUTION(02.1) name: hint"; the name may be missing.
struct Region {
  std::string indentation, name, hint;
};

Region parse_region(const std::string& line, const Exercise& exercise) {
  const std::string text = trimmed(line);
  const std::size_t close = text.find(')'), colon = text.find(": ");
  const bool has_both = close != std::string::npos && colon != std::string::npos;
  if (!has_both || colon < close + 1 || (colon > close + 1 && text[close + 1] != ' '))
    throw FormatError("a region begins with: // SOLUTION(02.1) name: hint");
  if (text.substr(kBegin.size(), close - kBegin.size()) != exercise.id)
    throw FormatError(concat("the region is not marked as one of exercise ", exercise.id));
  const std::string name = colon == close + 1 ? "" : text.substr(close + 2, colon - close - 2);
  return {line.substr(0, line.size() - text.size()), name, text.substr(colon + 2)};
}

}  // namespace

std::string make_template(const std::string& solution, const Exercise& exercise) {
  std::istringstream in(solution);
  std::string text;
  std::string call;  // the open region's todo()
  int number = 0, region_line = 0, regions = 0;
  const auto fail = [&](int line, const std::string& what) {
    throw FormatError(concat("the solution of ", exercise.id, ", line ", line, ": ", what));
  };
  for (std::string line; std::getline(in, line);) {
    ++number;
    const std::string content = trimmed(line);
    if (content.starts_with(kBegin)) {
      if (region_line != 0) fail(number, "a region within a region");
      try {
        const Region region = parse_region(line, exercise);
        text += concat(region.indentation, "// TODO(", exercise.id, "): ", region.hint, "\n");
        call = region.name.empty()
                   ? ""
                   : concat(region.indentation, "lockstep::todo(\"", exercise.id, " ", region.name, "\");\n");
      } catch (const FormatError& error) {
        fail(number, error.what());
      }
      region_line = number;
      ++regions;
    } else if (content == kEnd) {
      if (region_line == 0) fail(number, "the end of a region that has not begun");
      text += call;
      region_line = 0;
    } else if (region_line != 0 && content.starts_with(kFaulty)) {
      const std::string code = content.substr(std::min(content.size(), kFaulty.size() + 1));
      text += code.empty() ? "\n" : line.substr(0, line.size() - content.size()) + code + "\n";
      call.clear();
    } else if (region_line == 0) {
      text += line + "\n";
    }
  }
  if (region_line != 0) fail(region_line, "the region is not closed");
  if (regions == 0) fail(number, "there is no region");
  return text;
}

}  // namespace lockstep::exercise
