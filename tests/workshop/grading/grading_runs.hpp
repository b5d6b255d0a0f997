#pragma once
/// @file
/// Runs the instructors' program in tests.
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

/// Runs `lockstep grade`, four submissions in parallel, and waits for its end.
/// @param words  More options. @param variables  For its environment.
[[nodiscard]] test::Finished grade_folder(const std::filesystem::path& submissions, const std::filesystem::path& out,
                                          const std::vector<std::string>& words,
                                          const std::vector<std::pair<std::string, std::string>>& variables = {});

/// Ends this program as skipped unless the sandbox prevents everything here: attacks must not do harm.
void require_complete_sandbox();

/// Checks a grade against what was expected.
void check_grade(const StudentGrade& grade, const Expected& expected);

/// The number of processes of users for submissions that remain on this machine. Other gradings may be running, too:
/// waits up to two minutes until the current processes are gone.
[[nodiscard]] std::size_t processes_of_submissions();

}  // namespace lockstep::grading
