#pragma once
/// @file
/// Runs the commands shown in a lesson and compares their output with the lesson's. The conventions are those of
/// docs/CONTRIBUTING.md.
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "course/predictions.hpp"
#include "project_files.hpp"

namespace lockstep::checks {

/// True if `text` matches `expected`: `…` matches any text, `~2.31±0.05` a number in that range, and runs of blanks
/// count as one blank.
[[nodiscard]] bool line_matches(const std::string& expected, const std::string& text);

/// Compares outputs line by line; a line of just `…` stands for any number of lines.
/// @return  Empty if they match, otherwise the first unmatched line and the whole output.
[[nodiscard]] std::string compare_output(const std::vector<std::string>& expected,
                                         const std::vector<std::string>& printed, bool is_unordered);

/// The result of a command.
struct CommandResult {
  int exit_status = 0;              ///< 128 + signal if a signal ended it.
  bool was_stopped = false;         ///< At its time limit.
  std::vector<std::string> output;  ///< Standard output and error, interleaved.
};

/// Runs `command` by /bin/sh in `folder`; at the limit kills it and all its processes.
/// @param path  Prepended to PATH.
/// @throws IoError  It could not be started.
[[nodiscard]] CommandResult run_command(const std::string& command, const std::filesystem::path& folder,
                                        const std::filesystem::path& path, std::chrono::milliseconds limit);

/// Runs every marked block of a file.
/// @param folder  Working directory of the commands.
/// @param programs  Folder of the programs.
[[nodiscard]] Problems check_commands(const course::MarkdownFile& file, const std::filesystem::path& folder,
                                      const std::filesystem::path& programs);

inline constexpr std::size_t kOutputColumns = 80;  ///< Of the output that lessons show.

/// The lines of output in marked blocks that are wider than kOutputColumns. Blocks whose command fails may have such
/// lines: error messages are broken by the terminal's width.
[[nodiscard]] Problems check_output_widths(const course::MarkdownFile& file);

}  // namespace lockstep::checks
