#pragma once
/// @file
/// What a class has handed in.
#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::grading {

/// One submission that is to be graded.
struct Task {
  std::filesystem::path submission;  ///< A zip or a folder.
  std::string key;                   ///< Its name without ending, as a name that is good in every path; unique.
  std::string basis;                 ///< Fingerprint of it and of the settings.
};

/// The submissions in a folder, in the order of their names. Files that are no archives, and links, are not among them.
/// One that cannot be read is: it costs nobody else a grade.
/// @param settings_text  What else a result depends on.
/// @param ignored  Gets the names of what was left out.
[[nodiscard]] std::vector<Task> find_submissions(const std::filesystem::path& folder, const std::string& settings_text,
                                                 std::vector<std::string>& ignored);

}  // namespace lockstep::grading
