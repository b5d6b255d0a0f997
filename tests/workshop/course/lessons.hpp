#pragma once
/// @file
/// Checks the project's Markdown against its files: links, excerpts, counts, measurements, and the subset rendered by
/// both GitHub and Doxygen 1.9. The conventions are those of docs/CONTRIBUTING.md.
#include <filesystem>
#include <string>
#include <vector>

#include "course/markdown.hpp"
#include "project_files.hpp"

namespace lockstep::checks {

/// The chapters' lessons, in their order: the README.md of each folder in chapters/.
[[nodiscard]] std::vector<course::MarkdownFile> chapter_lessons(const std::filesystem::path& root);

/// True for a block of C++ or CUDA.
[[nodiscard]] bool is_cpp(const course::FencedBlock& block);

/// Links and images to missing files, headings or lines.
[[nodiscard]] Problems check_links(const std::filesystem::path& root, const course::MarkdownFile& file);

/// Markup that GitHub or Doxygen does not render: footnotes, alerts, task lists, formulas, diagrams, most HTML tags,
/// Doxygen commands in prose.
[[nodiscard]] Problems check_subset(const course::MarkdownFile& file);

/// Blocks under a link to lines that differ from them; in lessons also C++ blocks without such a link.
/// @param is_lesson  True if C++ blocks must come from files.
[[nodiscard]] Problems check_excerpts(const std::filesystem::path& root, const course::MarkdownFile& file,
                                      bool is_lesson);

/// Paragraphs under `<!-- counts: path -->` that do not state the derived file's counts.
[[nodiscard]] Problems check_counts(const std::filesystem::path& root, const course::MarkdownFile& file);

/// Questions (course/predictions.hpp) that are malformed, or whose answer is not in the block below.
[[nodiscard]] Problems check_predictions(const course::MarkdownFile& file);

/// All of the above on every Markdown file below `root`.
[[nodiscard]] Problems check_lessons(const std::filesystem::path& root);

/// True if `excerpt` shows exactly the lines [first, last] (counted from 1), without common indentation; a line of just
/// `…` in it stands for any lines.
[[nodiscard]] bool shows_lines(const std::vector<std::string>& excerpt, const std::vector<std::string>& lines,
                               std::size_t first, std::size_t last);

/// The file's lines with corrected measured numbers (measured.hpp), and with corrected line ranges of excerpts that
/// occur exactly once in the file that their link names.
[[nodiscard]] std::vector<std::string> with_updates(const std::filesystem::path& root,
                                                    const course::MarkdownFile& file);

}  // namespace lockstep::checks
