#pragma once
/// @file
/// Checks the measured numbers in the project's Markdown against the JSON files that they come from. The conventions
/// are those of docs/CONTRIBUTING.md.
#include <filesystem>
#include <string>
#include <vector>

#include "course/markdown.hpp"
#include "project_files.hpp"

namespace lockstep::checks {

/// A file's lines with measured values filled in, keeping the number of decimals.
struct MeasuredLines {
  std::vector<std::string> lines;
  Problems problems;  ///< Faults that no number can fix: a missing file, row, field or phrase.
};

/// Reads every `<!-- measured: ... -->` and fills in its numbers from its file.
[[nodiscard]] MeasuredLines with_measured_values(const std::filesystem::path& root, const course::MarkdownFile& file);

/// Measured numbers that differ from their files.
[[nodiscard]] Problems check_measured(const std::filesystem::path& root, const course::MarkdownFile& file);

/// Tables and printed columns of times or rates (us, ms, s, GB/s, tok/s, ...) without a comment above.
[[nodiscard]] Problems check_unmarked_tables(const course::MarkdownFile& file);

}  // namespace lockstep::checks
