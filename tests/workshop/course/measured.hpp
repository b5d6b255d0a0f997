#pragma once
/// @file
/// Holds the measured numbers of the project's Markdown against the JSON files that they come from. The conventions are
/// those of docs/CONTRIBUTING.md.
#include <filesystem>
#include <string>
#include <vector>

#include "course/markdown.hpp"
#include "project_files.hpp"

namespace lockstep::checks {

/// A file's lines as its measurements say, with as many digits behind the point as are written now.
struct MeasuredLines {
  std::vector<std::string> lines;
  Problems problems;  ///< What no other number would put right: a file, row, field or phrase that does not exist.
};

/// Reads every `<!-- measured: ... -->` and writes its file's values in place of the numbers that it speaks of.
[[nodiscard]] MeasuredLines with_measured_values(const std::filesystem::path& root, const course::MarkdownFile& file);

/// Measured numbers that are not what their files say.
[[nodiscard]] Problems check_measured(const std::filesystem::path& root, const course::MarkdownFile& file);

/// Tables and printed columns of times or rates (us, ms, s, GB/s, tok/s, ...) that no comment precedes.
[[nodiscard]] Problems check_unmarked_tables(const course::MarkdownFile& file);

}  // namespace lockstep::checks
