#pragma once
/// @file
/// All submissions of a class, several at a time, each graded by a process of its own.
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "grading/grade.hpp"
#include "grading/settings.hpp"

namespace lockstep::grading {

/// One submission that is to be graded.
struct Task {
  std::filesystem::path submission;  ///< A zip or a folder.
  std::string key;                   ///< Its name without ending; unique in a class.
  std::string basis;                 ///< Fingerprint of it and of the settings.
};

/// The submissions in a folder, in the order of their names. Files that are no archives, and links, are not among them.
/// @param ignored  Gets the names of what was left out.
/// @param settings_text  What else a result depends on.
[[nodiscard]] std::vector<Task> find_submissions(const std::filesystem::path& folder, const std::string& settings_text,
                                                 std::vector<std::string>& ignored);

/// Grades all of them, `jobs` at a time, and those that failed with SETUP once more at the end, one at a time.
/// @param program   This one. @param settings_file  Where the settings are written.
/// @param report    Is given each grade as it is made, from this thread.
/// @return  The last grade of each, in the order of the tasks: also for one whose process died twice.
/// @pre adopt_orphans().
[[nodiscard]] std::vector<StudentGrade> grade_all(const std::vector<Task>& tasks, const Settings& settings,
                                                  const std::filesystem::path& settings_file,
                                                  const std::filesystem::path& program, int jobs,
                                                  const std::function<void(const StudentGrade&)>& report);

}  // namespace lockstep::grading
