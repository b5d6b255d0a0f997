#pragma once
/// @file
/// Results of a whole class: grades.csv for a spreadsheet, class.html for reading.
#include <filesystem>
#include <string>
#include <vector>

#include "grading/grade.hpp"
#include "grading/sandbox.hpp"
#include "grading/settings.hpp"

namespace lockstep::grading {

/// A graded class.
struct ClassReport {
  const std::vector<StudentGrade>& grades;     ///< One per student.
  const Settings& settings;                    ///< The same for all.
  const std::vector<Protection>& protections;  ///< Results of the tests before grading.
  double seconds = 0;                          ///< Wall time of this run.
};

/// A row per student: key, name, status, points, maximum, and a column per exercise. The points of a submission that
/// could not be graded are left empty.
[[nodiscard]] std::string grades_csv(const ClassReport& report);

/// One page without scripts or external resources.
[[nodiscard]] std::string class_html(const ClassReport& report);

/// Names that several grades have, with the keys: "Ann: ann ann_late".
[[nodiscard]] std::vector<std::string> repeated_names(const std::vector<StudentGrade>& grades);

/// Writes both files. @throws IoError
void write_class_files(const std::filesystem::path& folder, const ClassReport& report);

}  // namespace lockstep::grading
