#pragma once
/// @file
/// The submissions of a class.
#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::grading {

struct Task {
  std::filesystem::path submission;  ///< A zip or a folder.
  std::string key;                   ///< Its file name without extension, made valid in every path; unique.
  std::string basis;                 ///< Fingerprint of submission and settings.
};

/// The submissions in a folder, in the order of their names. Skips links and files that are not archives, but includes
/// unreadable submissions, which cannot affect others' grades.
/// @param settings_text  Everything else that a result depends on.
/// @param ignored  Receives the names of skipped entries.
[[nodiscard]] std::vector<Task> find_submissions(const std::filesystem::path& folder, const std::string& settings_text,
                                                 std::vector<std::string>& ignored);

}  // namespace lockstep::grading
