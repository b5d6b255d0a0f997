#include "exercise/stack_text.hpp"

#include <algorithm>
#include <sstream>
#include <tuple>

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

// "path(+0x1234) [0x...]": the offset, where the frame is of `program`.
std::string offset_in(const std::string& line, const std::string& program) {
  const std::size_t open = line.find('('), close = line.find(')', open);
  if (open == std::string::npos || close == std::string::npos) return "";
  const std::string path = line.substr(std::string_view(kStackMark).size(), open - std::string_view(kStackMark).size());
  if (path.substr(path.find_last_of('/') + 1) != program.substr(program.find_last_of('/') + 1)) return "";
  const std::string inside = line.substr(open + 1, close - open - 1);
  return inside.starts_with("+0x") ? inside.substr(1) : "";
}

}  // namespace

std::vector<std::string> stack_lines(const std::string& output, const Subject& subject) {
  const auto& [program, source_folder] = std::tie(subject.program, subject.source_folder);
  std::vector<std::string> command = {"addr2line", "-C", "-f", "-p", "-i", "-e", program};
  for (const std::string& line : lines_of(output)) {
    if (!line.starts_with(kStackMark)) continue;
    if (const std::string offset = offset_in(line, program); !offset.empty()) command.push_back(offset);
  }
  if (command.size() == 7) return {};
  std::vector<std::string> frames;
  for (const std::string& line : lines_of(output_of(subject.wrapped(command)))) {
    const std::size_t place = line.find(source_folder);
    if (source_folder.empty() || place == std::string::npos) continue;
    const std::string file = line.substr(line.find_last_of('/') + 1);
    std::string function = line.substr(0, line.find(" at "));
    if (function.starts_with(" (inlined by) ")) function = function.substr(14);
    function = function.substr(0, function.rfind('('));  // without parameters
    if (const std::size_t scope = function.rfind("::"); scope != std::string::npos) function.erase(0, scope + 2);
    frames.push_back(function + " at " + file.substr(0, file.find(' ')));
    if (frames.size() == kMostFrames) break;
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
