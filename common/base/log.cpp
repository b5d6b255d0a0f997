#include "base/log.hpp"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/environment.hpp"
#include "base/terminal.hpp"
#include "base/utf8.hpp"

namespace lockstep {
namespace {

LogLevel lowest_level_from_environment() {
  const std::string name = environment::get("LOCKSTEP_LOG").value_or("info");
  if (name == "debug") return LogLevel::kDebug;
  if (name == "warning") return LogLevel::kWarning;
  if (name == "error") return LogLevel::kError;
  return LogLevel::kInfo;
}

std::string_view label(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug: ";
    case LogLevel::kInfo:
      return "";
    case LogLevel::kWarning:
      return "warning: ";
    case LogLevel::kError:
      return "error: ";
  }
  return "";
}

}  // namespace

Logger::Logger(std::string prefix) : prefix_(std::move(prefix)), lowest_(lowest_level_from_environment()) {}

void Logger::write(LogLevel level, std::string_view message) const noexcept {
  if (level < lowest_) return;
  try {
    std::string line;
    if (!prefix_.empty()) line.append(prefix_).append(": ");
    line.append(label(level)).append(message);
    line = wrap_for(STDERR_FILENO, printable(line)).append("\n");
    // A live line makes room; the next drawing brings it back below.
    if (is_live_line_shown() && isatty(STDERR_FILENO) == 1) line.insert(0, kClearLiveLine);
    // One write(2) per line: on a pipe, the kernel keeps lines of several processes apart up to PIPE_BUF.
    while (::write(STDERR_FILENO, line.data(), line.size()) < 0 && errno == EINTR) continue;
  } catch (...) {
    // Out of memory while building a log line: the run goes on without it.
  }
}

}  // namespace lockstep
