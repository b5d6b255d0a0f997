#pragma once
/// @file
/// Runs the commands that a lesson shows and compares what they print with what it says. The conventions are those of
/// docs/CONTRIBUTING.md.
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "course/predictions.hpp"
#include "project_files.hpp"

namespace lockstep::checks {

/// Whether `text` is what `expected` describes: `…` stands for any text, `~2.31±0.05` for a number in that range, runs
/// of blanks are one blank.
[[nodiscard]] bool line_matches(const std::string& expected, const std::string& text);

/// Compares outputs line by line; a line of just `…` stands for any number of lines.
/// @return  Empty if they match, else the first line that has no counterpart, and the whole output.
[[nodiscard]] std::string compare_output(const std::vector<std::string>& expected,
                                         const std::vector<std::string>& printed, bool is_unordered);

/// How a command ended.
struct CommandResult {
  int exit_status = 0;              ///< 128 + signal where one ended it.
  bool was_stopped = false;         ///< At its time limit.
  std::vector<std::string> output;  ///< Standard output and error, as they came.
};

/// Runs `command` by /bin/sh in `folder`, ends it and all it started at the limit.
/// @param path  Put in front of PATH.
/// @throws IoError  It could not be started.
[[nodiscard]] CommandResult run_command(const std::string& command, const std::filesystem::path& folder,
                                        const std::filesystem::path& path, std::chrono::milliseconds limit);

/// Runs every marked block of a file.
/// @param folder    Where commands run.
/// @param programs  Folder of the programs.
[[nodiscard]] Problems check_commands(const course::MarkdownFile& file, const std::filesystem::path& folder,
                                      const std::filesystem::path& programs);

}  // namespace lockstep::checks
