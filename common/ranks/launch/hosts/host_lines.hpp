#pragma once
/// @file
/// Removes duplicates from the messages that agents of several hosts print to standard error.
#include <cstddef>
#include <list>
#include <string>
#include <string_view>

#include "base/deadline.hpp"

namespace lockstep::launch {

/// Remembers agents' messages of the last few seconds. Thread safety: one thread.
class HostLines {
 public:
  /// @param name  Begins an agent's lines: "NAME on HOST: ".
  explicit HostLines(std::string name) : name_(std::move(name)) {}

  /// Whether to show a line: true unless it is an agent's and another agent has just printed the same.
  /// @param host  Its number. @param host_name  As printed in its agent's lines.
  [[nodiscard]] bool is_news(std::size_t host, std::string_view host_name, std::string_view line);

 private:
  struct Said {
    std::size_t host;
    std::string text;
    Deadline::Clock::time_point when;
  };
  std::string name_;
  std::list<Said> said_;  // oldest first
};

}  // namespace lockstep::launch
