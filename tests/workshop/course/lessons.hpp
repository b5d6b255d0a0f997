#pragma once
/// @file
/// Holds the project's Markdown against its files: links, excerpts, counts, measurements, and the subset that GitHub
/// and Doxygen 1.9 both render. The conventions are those of docs/CONTRIBUTING.md.
#include <filesystem>
#include <string>
#include <vector>

#include "course/markdown.hpp"
#include "project_files.hpp"

namespace lockstep::checks {

/// Links and images whose file, heading or lines do not exist.
[[nodiscard]] Problems check_links(const std::filesystem::path& root, const course::MarkdownFile& file);

/// What one of GitHub and Doxygen would not render: footnotes, alerts, task lists, formulas, diagrams, HTML beyond a
/// few tags, Doxygen commands in prose.
[[nodiscard]] Problems check_subset(const course::MarkdownFile& file);

/// Blocks below a link to lines that do not equal them; in lessons also C++ blocks without such a link.
/// @param is_lesson  Whether C++ blocks must come from files.
[[nodiscard]] Problems check_excerpts(const std::filesystem::path& root, const course::MarkdownFile& file,
                                      bool is_lesson);

/// Paragraphs below `<!-- counts: path -->` that do not say the derived file's counts.
[[nodiscard]] Problems check_counts(const std::filesystem::path& root, const course::MarkdownFile& file);

/// Questions (course/predictions.hpp) that are not of their form, or whose answer the block below does not show.
[[nodiscard]] Problems check_predictions(const course::MarkdownFile& file);

/// All of the above on every Markdown file below `root`.
[[nodiscard]] Problems check_lessons(const std::filesystem::path& root);

/// Whether `excerpt` shows exactly the lines [first, last] (counted from 1), less common indentation; a line of just
/// `…` in it stands for any lines.
[[nodiscard]] bool shows_lines(const std::vector<std::string>& excerpt, const std::vector<std::string>& lines,
                               std::size_t first, std::size_t last);

/// The file's lines with its measured numbers put right (measured.hpp), and the ranges of its excerpts where the
/// excerpt stands exactly once in the file that its link names.
[[nodiscard]] std::vector<std::string> with_updates(const std::filesystem::path& root,
                                                    const course::MarkdownFile& file);

}  // namespace lockstep::checks
