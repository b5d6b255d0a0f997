#pragma once
/// @file
/// Submissions that attack the grader, in ways of their own each.
#include <filesystem>
#include <string>
#include <vector>

#include "synthetic_class.hpp"

namespace lockstep::grading {

/// What the submissions of a class attack with.
enum class Attack {
  kAnswers,  ///< What their ranks say.
  kDeeds,    ///< What their ranks read, write, start and use up.
  kFiles     ///< What the compiler is told, archives, manifests and names.
};

/// Writes them into a folder, and honest ones among them.
/// @param root  The project's. @param release  The tag that manifests name.
/// @param canary  A file outside that attacks try to read.
[[nodiscard]] std::vector<Expected> make_hostile_class(const std::filesystem::path& root,
                                                       const std::filesystem::path& folder, const std::string& release,
                                                       const std::filesystem::path& canary, Attack attack);

}  // namespace lockstep::grading
