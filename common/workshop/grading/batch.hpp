#pragma once
/// @file
/// All submissions of a class, several at a time, each graded by a process of its own.
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "grading/grade.hpp"
#include "grading/settings.hpp"
#include "grading/submissions.hpp"

namespace lockstep::grading {

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
