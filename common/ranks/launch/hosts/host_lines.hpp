#pragma once
/// @file
/// What the agents of several hosts say on standard error, without what they say alike.
#include <cstddef>
#include <list>
#include <string>
#include <string_view>

#include "base/deadline.hpp"

namespace lockstep::launch {

/// Remembers what agents have said in the last seconds. Thread safety: one thread.
class HostLines {
 public:
  /// @param name  Begins an agent's lines: "NAME on HOST: ".
  explicit HostLines(std::string name) : name_(std::move(name)) {}

  /// Whether a line is to be shown: it is no agent's, or no other agent has just said the same.
  /// @param host  Its number. @param host_name  As it stands in its agent's lines.
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
