#pragma once
/// @file
/// Submissions that attack the grader, each in a different way.
#include <filesystem>
#include <string>
#include <vector>

#include "synthetic_class.hpp"

namespace lockstep::grading {

/// The means of attack of a class's submissions.
enum class Attack {
  kAnswers,  ///< Their ranks' answers.
  kDeeds,    ///< Files, processes and resources that their ranks use.
  kFiles     ///< Compiler input, archives, manifests and names.
};

/// Writes them into a folder, with honest ones among them.
/// @param root    The project's root. @param release  The tag named in manifests.
/// @param canary  An outside file that attacks try to read.
[[nodiscard]] std::vector<Expected> make_hostile_class(const std::filesystem::path& root,
                                                       const std::filesystem::path& folder, const std::string& release,
                                                       const std::filesystem::path& canary, Attack attack);

}  // namespace lockstep::grading
