#pragma once
/// @file
/// What a student gets back, and what is kept of it.
#include <filesystem>
#include <optional>
#include <string>

#include "grading/grade.hpp"

namespace lockstep::grading {

/// Gradescope's results.json: a test per check, with score, output and visibility.
/// @source gradescope-autograders.readthedocs.io, "Autograder Specifications", section "Output format".
[[nodiscard]] nlohmann::json gradescope_results(const StudentGrade& grade);

/// The same as JUnit XML: a suite per exercise.
[[nodiscard]] std::string junit_xml(const StudentGrade& grade);

/// The same for reading, in Markdown.
[[nodiscard]] std::string feedback_markdown(const StudentGrade& grade);

/// Writes results.json, junit.xml and feedback.md, which are for the student, and at last grade.json, which is for the
/// instructor and says that the others are complete. Each is written beside and renamed. @throws IoError
void write_student_files(const std::filesystem::path& folder, const StudentGrade& grade);

/// What grade.json says; nothing where there is none that can be used.
[[nodiscard]] std::optional<StudentGrade> read_student_grade(const std::filesystem::path& folder);

/// Writes a file so that nobody ever sees a part of it. @throws IoError
void replace_file(const std::filesystem::path& path, const std::string& text);

}  // namespace lockstep::grading
