#pragma once
/// @file
/// Checks the rhythm of lessons: something to do comes early, and again before the reader has forgotten the last one.
#include <cstddef>
#include <filesystem>

#include "course/markdown.hpp"
#include "project_files.hpp"

namespace lockstep::checks {

inline constexpr std::size_t kWordsBeforeFirst = 400;  ///< Of prose, before the first doing (course/doings.hpp).
inline constexpr std::size_t kWordsBetween = 900;  ///< From one doing to the next; after the last there is no limit.
inline constexpr std::size_t kDoingsInARow = 3;    ///< Among so many, one is an exercise or a case.

/// Where a lesson breaks these limits; the line is that of the doing that comes too late. Words on a doing's own line
/// come before it.
[[nodiscard]] Problems check_rhythm(const course::MarkdownFile& lesson);

/// check_rhythm() of all chapters' lessons.
[[nodiscard]] Problems check_rhythms(const std::filesystem::path& root);

}  // namespace lockstep::checks
