#pragma once
/// @file
/// The files with a student's results.
#include <filesystem>
#include <optional>
#include <string>

#include "grading/grade.hpp"

namespace lockstep::grading {

/// Gradescope's results.json: a test per check, with score, output and visibility.
/// @source gradescope-autograders.readthedocs.io, "Autograder Specifications", section "Output format".
[[nodiscard]] nlohmann::json gradescope_results(const StudentGrade& grade);

/// As JUnit XML: a suite per exercise.
[[nodiscard]] std::string junit_xml(const StudentGrade& grade);

/// As Markdown, for reading.
[[nodiscard]] std::string feedback_markdown(const StudentGrade& grade);

/// Writes results.json, junit.xml and feedback.md for the student, and finally grade.json for the instructor, which
/// marks the others as complete. Each is written under another name and renamed. @throws IoError
void write_student_files(const std::filesystem::path& folder, const StudentGrade& grade);

/// Reads grade.json; nothing if it is missing or cannot be used.
[[nodiscard]] std::optional<StudentGrade> read_student_grade(const std::filesystem::path& folder);

/// Replaces a file atomically. @throws IoError
void replace_file(const std::filesystem::path& path, const std::string& text);

}  // namespace lockstep::grading
