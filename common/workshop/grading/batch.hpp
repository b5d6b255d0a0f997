#pragma once
/// @file
/// Grades all submissions of a class, several in parallel, each in its own process.
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "grading/grade.hpp"
#include "grading/settings.hpp"
#include "grading/submissions.hpp"

namespace lockstep::grading {

/// Grades all of them, `jobs` in parallel; those that failed with SETUP are tried once more at the end, one at a time.
/// @param program  Path of this program. @param settings_file  Receives the settings.
/// @param report  Called with each grade as it is made, from this thread.
/// @return  The last grade of each, in the order of the tasks, even if its process died twice.
/// @pre adopt_orphans().
[[nodiscard]] std::vector<StudentGrade> grade_all(const std::vector<Task>& tasks, const Settings& settings,
                                                  const std::filesystem::path& settings_file,
                                                  const std::filesystem::path& program, int jobs,
                                                  const std::function<void(const StudentGrade&)>& report);

}  // namespace lockstep::grading
