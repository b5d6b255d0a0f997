#include "grading/compiler_words.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>
#include <string_view>

namespace lockstep::grading {
namespace {

// "work/02.1_reduce_scatter/reduce_scatter.cpp:12:5: error: ..." is an error in reduce_scatter.cpp.
bool is_error_in(const std::string& line, const std::string& file) {
  const std::size_t name = line.find(file + ":");
  if (name == std::string::npos || (name > 0 && line[name - 1] != '/')) return false;
  std::size_t at = name + file.size() + 1;
  if (at >= line.size() || std::isdigit(static_cast<unsigned char>(line[at])) == 0) return false;
  at = line.find_first_not_of("0123456789:", at);
  const std::string_view rest = at == std::string::npos ? "" : std::string_view(line).substr(at);
  return rest.starts_with(" error: ") || rest.starts_with(" fatal error: ");
}

bool is_about_symbols(const std::string& line) {
  return line.find("undefined reference to ") != std::string::npos ||
         line.find("multiple definition of ") != std::string::npos;
}

// Recognizes compiler errors caused by the machine, such as a full disk.
bool is_about_machine(const std::string& line) {
  constexpr std::array<std::string_view, 14> kWords = {"No space left on device",
                                                       "Disk quota exceeded",
                                                       "Input/output error",
                                                       "Cannot allocate memory",
                                                       "out of memory",
                                                       "Too many open files",
                                                       "Read-only file system",
                                                       "Permission denied",
                                                       "No such file or directory",
                                                       "Stale file handle",
                                                       "Resource temporarily unavailable",
                                                       "cannot find -l",
                                                       "cannot open",
                                                       "cannot execute"};
  return std::ranges::any_of(kWords, [&](std::string_view word) { return line.find(word) != std::string::npos; });
}

}  // namespace

bool is_about_files(const std::string& said, const std::vector<std::string>& files) {
  bool has_error = false;
  std::istringstream in(said);
  for (std::string line; std::getline(in, line);) {
    if (is_about_machine(line)) return false;
    has_error = has_error || is_about_symbols(line) ||
                std::ranges::any_of(files, [&](const std::string& file) { return is_error_in(line, file); });
  }
  return has_error;
}

std::string without_random_names(const std::string& said) {
  constexpr std::string_view kBegin = "/tmp/cc";
  constexpr std::size_t kRandom = 6;  // letters and digits after the prefix
  std::string text;
  std::size_t at = 0;
  for (std::size_t found = 0; (found = said.find(kBegin, at)) != std::string::npos;) {
    std::size_t end = found + kBegin.size();
    while (end < said.size() && std::isalnum(static_cast<unsigned char>(said[end])) != 0) ++end;
    const bool is_random = end == found + kBegin.size() + kRandom;
    text += said.substr(at, (is_random ? found + kBegin.size() : end) - at);
    at = end;
  }
  return text + said.substr(at);
}

}  // namespace lockstep::grading
