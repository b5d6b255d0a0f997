#pragma once
/// @file
/// What a learner reads before an exercise: the paragraph below the title of its TASK.md,
///
///     *30 minutes, medium. Read first: "Units" (8 minutes) in [the lesson](../../../chapters/09_x/README.md#units).*
#include <filesystem>
#include <string>
#include <vector>

#include "exercise/catalogue.hpp"

namespace lockstep::exercise {

struct Reading {
  std::string text;                 ///< After "Read first:", without markup; empty if the task does not say it.
  std::vector<std::string> places;  ///< "chapters/09_x/README.md:117", one for each link to a page.
};

/// A link that names no heading leads to the heading that is quoted before it; if there is none, to the page.
/// @param root  The project's root.
[[nodiscard]] Reading reading_of(const std::filesystem::path& root, const Exercise& exercise);

}  // namespace lockstep::exercise
