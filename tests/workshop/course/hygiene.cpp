#include "hygiene.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <regex>
#include <string>
#include <string_view>

#include "base/text.hpp"

namespace lockstep::checks {

namespace {

/// Includes their subdomains (docs.pytorch.org for pytorch.org).
constexpr std::array<std::string_view, 25> kPublicHosts = {"acm.org",
                                                           "arxiv.org",
                                                           "cmake.org",
                                                           "containers.dev",
                                                           "cppreference.com",
                                                           "debian.org",
                                                           "doi.org",
                                                           "doxygen.nl",
                                                           "example.com",
                                                           "example.org",
                                                           "github.com",
                                                           "gutenberg.org",
                                                           "huggingface.co",
                                                           "ieee.org",
                                                           "kernel.org",
                                                           "localhost",
                                                           "man7.org",
                                                           "nvidia.com",
                                                           "open-mpi.org",
                                                           "perfetto.dev",
                                                           "prometheus.io",
                                                           "pytorch.org",
                                                           "raw.githubusercontent.com",
                                                           "rfc-editor.org",
                                                           "w3.org"};

bool is_letter_or_digit(char character) { return std::isalnum(static_cast<unsigned char>(character)) != 0; }

bool is_known_host(std::string_view host) {
  if (host.starts_with("127.") || host.ends_with(".invalid") || host.ends_with(".test")) return true;
  return std::ranges::any_of(kPublicHosts, [&](std::string_view known) {
    return host == known || (host.ends_with(known) && host[host.size() - known.size() - 1] == '.');
  });
}

/// The first absolute path of a machine on `line`; empty for none.
std::string_view machine_path(std::string_view line) {
  using namespace std::string_view_literals;
  for (const std::string_view start : {"/ho"
                                       "me/"sv,
                                       "/ro"
                                       "ot/"sv,
                                       "/Us"
                                       "ers/"sv,
                                       "/wo"
                                       "rk/"sv}) {
    for (std::size_t at = line.find(start); at != std::string_view::npos; at = line.find(start, at + 1)) {
      const char before = at == 0 ? ' ' : line[at - 1];
      const std::size_t end = at + start.size();
      const bool has_more = end < line.size() && is_letter_or_digit(line[end]);
      if (has_more && !is_letter_or_digit(before) &&
          std::string_view("./_}~-*").find(before) == std::string_view::npos) {
        return line.substr(at, line.find_first_of(" \"'`)", at) - at);
      }
    }
  }
  return {};
}

/// The first host of a URL on `line` that is not in kPublicHosts; empty for none.
std::string_view unknown_host(std::string_view line) {
  for (const std::string_view scheme : {"http://", "https://", "ftp://"}) {
    for (std::size_t at = line.find(scheme); at != std::string_view::npos; at = line.find(scheme, at + 1)) {
      std::string_view host = line.substr(at + scheme.size());
      std::size_t end = 0;
      while (end < host.size() && (is_letter_or_digit(host[end]) || host[end] == '.' || host[end] == '-')) ++end;
      host = host.substr(0, end);
      if (!host.empty() && !is_known_host(host)) return host;
    }
  }
  return {};
}

bool is_binary(const course::TextFile& file) {
  const std::size_t count = std::min<std::size_t>(file.lines.size(), 16);
  return std::any_of(file.lines.begin(), file.lines.begin() + static_cast<std::ptrdiff_t>(count),
                     [](const std::string& line) { return line.find('\0') != std::string::npos; });
}

}  // namespace

Problems check_hygiene(const std::filesystem::path& root) {
  Problems problems;
  for (const std::string& path : project_files(root)) {
    const course::TextFile file = read_project_file(root, path);
    if (is_binary(file)) continue;
    for (std::size_t index = 0; index < file.lines.size(); ++index) {
      const std::string_view found = machine_path(file.lines[index]), host = unknown_host(file.lines[index]);
      if (!found.empty()) problems.push_back(concat(file.place(index), " names a path of one machine: ", found));
      if (!host.empty())
        problems.push_back(concat(file.place(index), " names ", host, ", which is not on the list of public hosts"));
    }
  }
  return problems;
}

Problems check_program_starts(const std::filesystem::path& root) {
  // Excludes "posix_spawn(3)" and "popen()", as comments write them.
  static const std::regex kStart(R"(\b(posix_spawnp?|popen)\s*\((?!\d?\)))");
  Problems problems;
  for (const std::string folder : {"common", "chapters", "exercises", "solutions", "tests"}) {
    for (const std::string& path : select_files(project_files(root), folder, {".hpp", ".cpp", ".cu", ".cuh"})) {
      if (path == "common/base/process.cpp" || path == "tests/support/failing_calls.cpp") continue;
      const course::TextFile file = read_project_file(root, path);
      for (std::size_t index = 0; index < file.lines.size(); ++index) {
        std::smatch found;
        if (std::regex_search(file.lines[index], found, kStart))
          problems.push_back(concat(file.place(index), " calls ", found[1].str(), "(): use base/process.hpp"));
      }
    }
  }
  return problems;
}

}  // namespace lockstep::checks
