#include "launch/hosts/hostfile.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>

#include "base/error.hpp"
#include "base/file.hpp"
#include "net/address.hpp"

namespace lockstep::launch {
namespace {

constexpr int kMostSlots = 65536;

std::optional<int> parse_slots(std::string_view text) {
  int value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc{} && stop == text.data() + text.size();
  return is_number && value >= 1 && value <= kMostSlots ? std::optional(value) : std::nullopt;
}

/// A line of the file, with its position.
class LineReader {
 public:
  LineReader(const std::string& name, int line) : name_(name), line_(line) {}

  [[nodiscard]] HostEntry parse(const std::string& text) const {
    std::istringstream words(text);
    std::string word;
    words >> word;
    HostEntry entry = parse_host(word);
    std::optional<int> most;
    while (words >> word) {
      const std::size_t equals = word.find('=');
      const std::string key = word.substr(0, equals);
      const bool is_most = key == "max_slots" || key == "max-slots";
      if (equals == std::string::npos || !(key == "slots" || is_most))
        fail(concat("'", word, "' is neither slots=N nor max_slots=N; a line is: host slots=4"));
      const auto value = parse_slots(std::string_view(word).substr(equals + 1));  // past the sign
      if (!value) fail(concat("'", word, "': the number of ranks must be from 1 to ", kMostSlots));
      if (is_most)
        most = value;
      else
        entry.slots = *value;
    }
    if (most && entry.slots > *most) fail(concat("slots=", entry.slots, " is more than max_slots=", *most));
    return entry;
  }

 private:
  [[nodiscard]] HostEntry parse_host(const std::string& word) const {
    HostEntry entry{.host = word, .user = {}, .line = line_};
    if (const std::size_t at = word.rfind('@'); at != std::string::npos) {
      entry.user = word.substr(0, at);
      entry.host = word.substr(at + 1);  // past the sign
      if (entry.user.empty() || entry.user.front() == '-') fail(concat("'", word, "' names no user before the @"));
    }
    const bool is_in_brackets = entry.host.starts_with('[') && entry.host.ends_with(']');
    const std::string inside = net::without_brackets(entry.host);
    if (is_in_brackets && !(net::is_number(inside) && inside.find(':') != std::string::npos))
      fail(concat("'", word, "': what is in brackets is no IPv6 address"));
    if (!is_in_brackets) check_name(entry.host);
    entry.host = inside;
    return entry;
  }

  void check_name(const std::string& host) const {
    if (net::is_number(host) && host.find(':') != std::string::npos)
      fail(concat("an IPv6 address stands in brackets: [", host, "]"));
    if (const std::size_t colon = host.find(':'); colon != std::string::npos) {
      const std::string before = host.substr(0, colon), after = host.substr(colon + 1);  // past the colon
      fail(concat("'", host, "': write ", before, " slots=", parse_slots(after) ? after : "N",
                  "; a port of ssh goes into --ssh-options or ~/.ssh/config"));
    }
    if (host.empty() || host.front() == '-' || host.find_first_of("=,/'\"\\[]") != std::string::npos)
      fail(concat("'", host, "' is not the name of a host; a line is: host slots=4"));
  }

  [[noreturn]] void fail(const std::string& what) const { throw FormatError(concat(name_, ":", line_, ": ", what)); }

  const std::string& name_;
  int line_;
};

// Adds a host to the list, or its slots to those of the same host.
void add(std::vector<HostEntry>& hosts, const HostEntry& entry) {
  const auto known = std::ranges::find_if(
      hosts, [&](const HostEntry& each) { return each.host == entry.host && each.user == entry.user; });
  if (known == hosts.end())
    hosts.push_back(entry);
  else
    known->slots = std::max(known->slots, 1) + std::max(entry.slots, 1);
}

}  // namespace

std::vector<HostEntry> parse_hostfile(std::string_view text, const std::string& name) {
  std::vector<HostEntry> hosts;
  std::istringstream lines{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    add(hosts, LineReader(name, number).parse(line));
  }
  if (hosts.empty()) throw FormatError(concat(name, " lists no host; a line is: host slots=4"));
  return hosts;
}

std::vector<HostEntry> read_hostfile(const std::filesystem::path& file) {
  return parse_hostfile(read_file(file), file.string());
}

}  // namespace lockstep::launch
