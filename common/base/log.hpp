#pragma once
/// @file
/// Log lines on standard error, each written whole so that the lines of several ranks do not mix.
#include <string>
#include <string_view>

namespace lockstep {

/// Severity, ascending.
enum class LogLevel { kDebug, kInfo, kWarning, kError };

/// Writes lines that begin with a prefix such as "rank 2". A value type; any thread may write. The environment variable
/// `LOCKSTEP_LOG` sets the lowest level shown (debug, info, warning, error; default info).
class Logger {
 public:
  explicit Logger(std::string prefix = "");

  /// For debugging.
  void debug(std::string_view message) const { write(LogLevel::kDebug, message); }
  /// For watching a run.
  void info(std::string_view message) const { write(LogLevel::kInfo, message); }
  /// Something is wrong; the run goes on.
  void warning(std::string_view message) const { write(LogLevel::kWarning, message); }
  /// Something ends the run.
  void error(std::string_view message) const { write(LogLevel::kError, message); }

  /// Writes one line if `level` is shown. Never throws: a log line must not end a run.
  void write(LogLevel level, std::string_view message) const noexcept;

 private:
  std::string prefix_;
  LogLevel lowest_;
};

}  // namespace lockstep
