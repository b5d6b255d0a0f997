#pragma once
/// @file
/// The program that instructors run, run by tests.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "grading/grade.hpp"
#include "support/subprocess.hpp"
#include "synthetic_class.hpp"

namespace lockstep::grading {

/// The project's root.
[[nodiscard]] std::filesystem::path course_root();

/// Runs `lockstep grade`, four submissions at a time, and waits for its end.
/// @param words  More of its options. @param variables  For its environment.
[[nodiscard]] test::Finished grade_folder(const std::filesystem::path& submissions, const std::filesystem::path& out,
                                          const std::vector<std::string>& words,
                                          const std::vector<std::pair<std::string, std::string>>& variables = {});

/// Ends this program as skipped if a sandbox does not prevent everything here: attacks are only tried where nothing can
/// come of them.
void require_complete_sandbox();

/// Checks a grade against what was expected.
void check_grade(const StudentGrade& grade, const Expected& expected);

/// How many of the processes of users for submissions that run on this machine stay. Others may be grading, too: waits
/// until those that run now are gone, for two minutes.
[[nodiscard]] std::size_t processes_of_submissions();

}  // namespace lockstep::grading
