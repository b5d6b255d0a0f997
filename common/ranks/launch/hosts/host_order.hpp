#pragma once
/// @file
/// Messages between the launcher of a list of hosts and the agent it has started on one of them. They use the agent's
/// standard input and output, because other users could see a command line.
///
/// The agent greets; the launcher then sends one order, followed by signals and heartbeats. In the agent's standard
/// output, a line that begins with the order's mark is a report to the launcher; all other lines come from ranks.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/rank_environment.hpp"

namespace lockstep::launch {

/// The agent's first line; earlier lines come from the login shell. The number changes with the format of orders.
inline constexpr std::string_view kAgentGreeting = "lockstep agent 1";
/// The launcher's heartbeat.
inline constexpr std::string_view kLauncherLives = "alive";
/// Followed by the number of a signal that the launcher forwards.
inline constexpr std::string_view kLauncherSignal = "signal ";

/// The agent's instructions. Strings contain no zero byte.
struct HostOrder {
  std::string mark;                    ///< Random, so that no rank prints it by chance.
  std::string name;                    ///< The host's name in the launcher's list.
  std::string directory;               ///< Working directory.
  bool is_first = true;                ///< Prints messages that would be the same from all agents.
  Variables variables;                 ///< For the agent and its ranks; includes the job's token.
  std::vector<std::string> arguments;  ///< Of `lockstep launch`.
  bool operator==(const HostOrder&) const = default;
};

/// A line with the number of bytes, then the bytes.
[[nodiscard]] std::string encode(const HostOrder& order);
/// Decodes the bytes after the first line. @throws FormatError  They are not an order.
[[nodiscard]] HostOrder decode_order(std::string_view bytes);

/// A report from an agent.
struct HostReport {
  enum class Kind {
    kStarted,  ///< The order is valid and the program exists.
    kMeeting,  ///< The hosts' meeting is at port `number`.
    kFailed,   ///< It cannot take part, because of `text`.
    kEnded,    ///< This host's part of the job has ended with code `number`.
  };
  Kind kind = Kind::kStarted;
  int number = 0;    ///< A port or an exit code.
  std::string text;  ///< For people.
  bool operator==(const HostReport&) const = default;
};

/// The report as a line, without line end.
[[nodiscard]] std::string encode(const HostReport& report, const std::string& mark);
/// Decodes the text after the mark on a line; nullopt if it is not a report.
[[nodiscard]] std::optional<HostReport> decode_report(std::string_view text);

}  // namespace lockstep::launch
