#pragma once
/// @file
/// What the launcher of a list of hosts and the agent that it has started on one of them say to each other, through the
/// agent's standard input and output: nothing of it is on a command line, where other users would see it.
///
/// The agent greets; the launcher then sends one order, and signals and signs of life after it. In the agent's standard
/// output, a line that begins with the order's mark is a report to the launcher; all others are the ranks'.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/rank_environment.hpp"

namespace lockstep::launch {

/// The agent's first line. What comes before it is the login shell's. The number changes with the order's form.
inline constexpr std::string_view kAgentGreeting = "lockstep agent 1";
/// A sign of life of the launcher.
inline constexpr std::string_view kLauncherLives = "alive";
/// Before the number of a signal that the launcher passes on.
inline constexpr std::string_view kLauncherSignal = "signal ";

/// What an agent is to do. No string holds a zero byte.
struct HostOrder {
  std::string mark;                    ///< Random: no rank prints it by chance.
  std::string name;                    ///< The host, as the launcher's list calls it.
  std::string directory;               ///< To work in.
  bool is_first = true;                ///< Speaks for the job where all agents would say the same.
  Variables variables;                 ///< For the agent and its ranks; the job's token is one of them.
  std::vector<std::string> arguments;  ///< Of `lockstep launch`.
  bool operator==(const HostOrder&) const = default;
};

/// The order as bytes: their number on a line, then so many.
[[nodiscard]] std::string encode(const HostOrder& order);
/// The order in the bytes after the first line. @throws FormatError  There is none.
[[nodiscard]] HostOrder decode_order(std::string_view bytes);

/// What an agent reports.
struct HostReport {
  /// Kinds of report.
  enum class Kind {
    kStarted,  ///< It has understood its order, and there is such a program.
    kMeeting,  ///< The hosts meet at port `number`.
    kFailed,   ///< It cannot take part, because of `text`.
    kEnded,    ///< The job has ended with code `number`, as far as it is this host's.
  };
  Kind kind = Kind::kStarted;  ///< Which.
  int number = 0;              ///< A port or an exit code.
  std::string text;            ///< For people.
  bool operator==(const HostReport&) const = default;
};

/// The report as a line, without its end.
[[nodiscard]] std::string encode(const HostReport& report, const std::string& mark);
/// The report in what follows the mark on a line; nothing where it is none.
[[nodiscard]] std::optional<HostReport> decode_report(std::string_view text);

}  // namespace lockstep::launch
