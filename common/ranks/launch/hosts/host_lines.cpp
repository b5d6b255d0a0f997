#include "launch/hosts/host_lines.hpp"

#include <algorithm>
#include <chrono>

#include "base/error.hpp"

namespace lockstep::launch {
namespace {

// Agents report the same event at about the same time.
constexpr std::chrono::seconds kMemory{5};

}  // namespace

bool HostLines::is_news(std::size_t host, std::string_view host_name, std::string_view line) {
  const std::string prefix = concat(name_, " on ", host_name, ": ");
  if (!line.starts_with(prefix)) return true;
  const auto now = Deadline::Clock::now();
  std::erase_if(said_, [now](const Said& each) { return now - each.when > kMemory; });
  const std::string_view text = line.substr(prefix.size());
  const bool is_known =
      std::ranges::any_of(said_, [&](const Said& each) { return each.text == text && each.host != host; });
  if (!is_known) said_.push_back({host, std::string(text), now});
  return !is_known;
}

}  // namespace lockstep::launch
