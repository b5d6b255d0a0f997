#pragma once
/// @file
/// Lessons for students: no code of files that hold an answer, no links to files that they do not have.
#include <string>

#include "release/plan.hpp"

namespace lockstep::release {

/// Rewrites a Markdown file. An excerpt, which is a line that holds only a link such as `[ring.cpp](ring.cpp#L40-L78)`
/// with a block of code below, becomes one sentence with a link to the exercise, where the plan leaves the file out as
/// an answer. Other links to files that the release lacks become their text. Everything else stays, byte for byte.
/// @param path  Of the file, below the project's root. @param text  Its text.
[[nodiscard]] std::string rewrite_lesson(const std::string& path, const std::string& text, const Plan& plan);

}  // namespace lockstep::release
