#pragma once
/// @file
/// The commands that a lesson shows under `<!-- run ... -->`, with their expected output. The conventions are those of
/// docs/CONTRIBUTING.md.
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "course/markdown.hpp"

namespace lockstep::course {

/// The contents of `<!-- run ... -->`.
struct RunDirective {
  bool is_unordered = false;            ///< Lines may come in any order.
  int exit_status = 0;                  ///< The expected exit status.
  std::chrono::seconds time_limit{20};  ///< For each command.
  std::string command;                  ///< Replaces the commands shown in the block; empty: the block's commands run.
  bool is_of_rows = false;              ///< The comment is above a table whose rows have commands.
};

/// The directive in a comment's text, or nothing if the comment is not a directive.
/// @throws FormatError  It begins with "run" but is malformed.
[[nodiscard]] std::optional<RunDirective> parse_run_directive(const std::string& comment);

/// A command and its expected output.
struct ShownCommand {
  std::string command;                ///< For a shell.
  std::vector<std::string> expected;  ///< With `…` and tolerances, as shown.
};

/// The `$ command` lines of a block, each with the output below it; a backslash continues a command. If the directive
/// names a command, only that one.
[[nodiscard]] std::vector<ShownCommand> shown_commands(const FencedBlock& block, const RunDirective& directive);

/// The command as a checker runs it in the project's root: with the built tool, since the script `lockstep` would
/// build.
/// @param command  As a learner types it.
[[nodiscard]] std::string with_built_tool(const std::string& command);

}  // namespace lockstep::course
