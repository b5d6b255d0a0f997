#pragma once
/// @file
/// The commands that a lesson shows, with what they print, below `<!-- run ... -->`. The conventions are those of
/// docs/CONTRIBUTING.md.
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "course/markdown.hpp"

namespace lockstep::course {

/// What stands in `<!-- run ... -->`.
struct RunDirective {
  bool is_unordered = false;            ///< Lines may come in any order.
  int exit_status = 0;                  ///< That is expected.
  std::chrono::seconds time_limit{20};  ///< For each command.
  std::string command;                  ///< In place of those the block shows; empty: those.
  bool is_of_rows = false;              ///< Stands above a table: its rows have commands.
};

/// The directive in a comment's text, or nothing where the comment is none.
/// @throws FormatError  It begins with "run" but is not of that form.
[[nodiscard]] std::optional<RunDirective> parse_run_directive(const std::string& comment);

/// A command, and the lines that it is to print.
struct ShownCommand {
  std::string command;                ///< For a shell.
  std::vector<std::string> expected;  ///< With `…` and tolerances, as shown.
};

/// The `$ command` lines of a block, each with the lines below it; a command goes on after a backslash. Where the
/// directive names a command, only that.
[[nodiscard]] std::vector<ShownCommand> shown_commands(const FencedBlock& block, const RunDirective& directive);

/// The command as a checker runs it in the project's root: with the built tool in place of the script `lockstep`, which
/// would build it first.
/// @param command  As a learner types it.
[[nodiscard]] std::string with_built_tool(const std::string& command);

}  // namespace lockstep::course
