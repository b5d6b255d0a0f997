#pragma once
/// @file
/// Lessons for students, without code from files that hold an answer and without links to missing files.
#include <string>

#include "release/plan.hpp"

namespace lockstep::release {

/// Rewrites a Markdown file. An excerpt is a line that holds only a link such as `[ring.cpp](ring.cpp#L40-L78)`, with a
/// block of code below. If the plan omits its file as an answer, one sentence with a link to the exercise replaces the
/// excerpt. Other links to files missing in the release become their text. Everything else is unchanged, byte for byte.
/// @param path  Of the file, relative to the project's root. @param text  Its text.
[[nodiscard]] std::string rewrite_lesson(const std::string& path, const std::string& text, const Plan& plan);

}  // namespace lockstep::release
