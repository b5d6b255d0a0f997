#include "exercise/stack_text.hpp"

#include <algorithm>
#include <sstream>
#include <tuple>

#include "base/addresses.hpp"
#include "base/error.hpp"
#include "exercise/rank_process.hpp"
#include "exercise/trial_layout.hpp"

namespace lockstep::exercise {
namespace {

constexpr std::size_t kMostFrames = 6;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The offset in "path(+0x1234) [0x...]" if the frame is in `program`.
std::string offset_in(const std::string& line, const std::string& program) {
  const std::size_t open = line.find('('), close = line.find(')', open);
  if (open == std::string::npos || close == std::string::npos) return "";
  const std::string path = line.substr(std::string_view(kStackMark).size(), open - std::string_view(kStackMark).size());
  if (path.substr(path.find_last_of('/') + 1) != program.substr(program.find_last_of('/') + 1)) return "";
  const std::string inside = line.substr(open + 1, close - open - 1);
  return inside.starts_with("+0x") ? inside.substr(1) : "";
}

// "function at file:line", without scopes, parameters and folders.
std::string describe(const SourceFrame& frame) {
  std::string function = frame.function.substr(0, frame.function.rfind('('));
  if (const std::size_t scope = function.rfind("::"); scope != std::string::npos) function.erase(0, scope + 2);
  return concat(function, " at ", frame.file.substr(frame.file.find_last_of('/') + 1), ":", frame.line);
}

}  // namespace

std::vector<std::string> stack_lines(const std::string& output, const Subject& subject) {
  const auto& [program, source_folder] = std::tie(subject.program, subject.source_folder);
  std::vector<std::string> offsets;
  for (const std::string& line : lines_of(output)) {
    if (!line.starts_with(kStackMark)) continue;
    if (const std::string offset = offset_in(line, program); !offset.empty()) offsets.push_back(offset);
  }
  if (offsets.empty() || source_folder.empty()) return {};
  std::vector<std::string> frames;
  for (const auto& of_address : parse_addr2line(output_of(subject.wrapped(addr2line_command(program, offsets))))) {
    for (const SourceFrame& frame : of_address)
      if (frame.file.find(source_folder) != std::string::npos && frames.size() < kMostFrames)
        frames.push_back(describe(frame));
  }
  return frames;
}

std::string without_stack(const std::string& output) {
  std::string rest;
  for (const std::string& line : lines_of(output))
    if (!line.starts_with(kStackMark)) rest += line + "\n";
  return rest;
}

std::vector<std::string> last_lines(const std::string& text, std::size_t most) {
  std::vector<std::string> lines = lines_of(text);
  if (lines.size() > most) lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(most));
  return lines;
}

}  // namespace lockstep::exercise
