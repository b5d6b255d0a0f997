#pragma once
/// @file
/// Grades for Moodle and Canvas: fills in the file that each of them exports, so that it can be imported again.
#include <string>
#include <vector>

#include "grading/archive.hpp"
#include "grading/download_names.hpp"
#include "grading/grade.hpp"

namespace lockstep::grading {

/// A grade, and who it is for according to Moodle or Canvas.
struct PlatformGrade {
  DownloadName name;
  StudentGrade grade;
};

/// A file for import, and what a person should look at.
struct FilledGradebook {
  std::string text;                       ///< CSV, with commas; only the rows that have got a grade.
  std::size_t filled = 0;                 ///< The number of these.
  std::vector<std::string> remarks = {};  ///< Grades that are not in it, and why.
  Files feedback = {};                    ///< Moodle: what students may read, by the names that its import expects.
};

/// Moodle's grading worksheet of one assignment. Its import needs the columns Identifier, Grade and "Last modified
/// (grade)", and finds students by the number in Identifier, which is also in the names of submissions. The worksheet
/// must be Moodle's English one.
/// @source Moodle 5, mod/assign/feedback/offline/importgradeslib.php, init() and next(); for feedback
/// mod/assign/feedback/file/importziplib.php, is_valid_filename_for_import().
class MoodleWorksheet {
 public:
  /// @param csv  The worksheet's text. @throws FormatError  A column is missing, or a maximum is not a number that
  /// can be read in only one way.
  explicit MoodleWorksheet(const std::string& csv);

  /// Points are scaled to the row's "Maximum grade", if there is one. "Feedback comments" gets a sentence per exercise.
  /// Grades of other platforms, and submissions that were not graded, are left out.
  [[nodiscard]] FilledGradebook fill(const std::vector<PlatformGrade>& grades) const;

 private:
  [[nodiscard]] std::string filled_row(const std::vector<std::string>& row, const StudentGrade& grade) const;

  std::vector<std::vector<std::string>> rows_;  // with the header
  std::size_t identifier_ = 0, points_ = 0, modified_ = 0;
  std::size_t name_ = kNone, maximum_ = kNone, feedback_ = kNone;
  static constexpr std::size_t kNone = ~std::size_t{0};
};

/// Canvas' gradebook of a course. Its import needs Student, ID and the other columns of a student up to Section, then
/// the assignment's column "Name (12345)"; it finds students by ID, which is also in the names of submissions.
/// @source Canvas LMS, lib/gradebook_importer.rb, header?(), update_column_count() and process_student().
class CanvasGradebook {
 public:
  /// @param csv  The exported gradebook's text. @param column  The assignment's column: its whole heading, or the
  /// number in it. Empty: the only one that there is. @throws FormatError  It is no gradebook, or the maximum is
  /// not a number that can be read in only one way. @throws UsageError  No such column, or more than one.
  CanvasGradebook(const std::string& csv, const std::string& column);

  /// Points are scaled to the assignment's "Points Possible". Grades of other platforms, and submissions that were not
  /// graded, are left out.
  [[nodiscard]] FilledGradebook fill(const std::vector<PlatformGrade>& grades) const;

 private:
  [[nodiscard]] std::string possible_points() const;  // empty: the gradebook does not say
  [[nodiscard]] std::string line_of(const std::vector<std::string>& row, const std::string& points) const;

  std::vector<std::vector<std::string>> rows_;                    // with the header
  std::size_t id_ = 0, section_ = 0, column_ = 0, possible_ = 0;  // the last: a row
};

}  // namespace lockstep::grading
