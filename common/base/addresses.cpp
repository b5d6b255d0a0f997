#include "base/addresses.hpp"

#include <charconv>
#include <optional>
#include <sstream>

namespace lockstep {
namespace {

// "file:line" or "file:line (discriminator 2)"; nothing for "??:0" and "file:?".
std::optional<SourceFrame> parse_frame(const std::string& function, const std::string& place) {
  const std::string text = place.substr(0, place.find(" ("));
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || text.starts_with("??")) return std::nullopt;
  SourceFrame frame{function == "??" ? "" : function, text.substr(0, colon), 0};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, frame.line);
  if (error != std::errc() || rest != end || frame.line == 0) return std::nullopt;
  return frame;
}

}  // namespace

std::vector<std::string> addr2line_command(const std::string& image, const std::vector<std::string>& offsets) {
  // -a: each address on its own line, before its frames.
  std::vector<std::string> command = {"addr2line", "-a", "-f", "-i", "-C", "-e", image};
  command.insert(command.end(), offsets.begin(), offsets.end());
  return command;
}

std::vector<std::vector<SourceFrame>> parse_addr2line(std::string_view printed) {
  std::vector<std::vector<SourceFrame>> frames;
  std::istringstream lines{std::string(printed)};
  for (std::string line, place; std::getline(lines, line);) {
    if (line.starts_with("0x")) {
      frames.emplace_back();
    } else if (std::getline(lines, place) && !frames.empty()) {
      if (const auto frame = parse_frame(line, place)) frames.back().push_back(*frame);
    }
  }
  return frames;
}

}  // namespace lockstep
