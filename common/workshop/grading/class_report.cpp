#include "grading/class_report.hpp"

#include <algorithm>
#include <map>

#include "base/error.hpp"
#include "base/terminal.hpp"
#include "grading/markup.hpp"
#include "grading/student_files.hpp"

namespace lockstep::grading {
std::string grades_csv(const ClassReport& report) {
  std::string text = "key,student,status,points,max_points";
  for (const std::string& id : report.settings.exercises) text += "," + id;
  text += "\n";
  for (const StudentGrade& grade : report.grades) {
    const bool is_graded = grade.status == "graded";
    text += concat(csv_cell(grade.key), ",", csv_cell(grade.student), ",", grade.status, ",",
                   is_graded ? with_digits(grade.points(), 2) : "", ",",
                   is_graded ? with_digits(grade.max_points(), 2) : "");
    for (const std::string& id : report.settings.exercises) {
      const auto found = std::ranges::find(grade.exercises, id, &ExerciseGrade::id);
      text += found == grade.exercises.end() || found->verdict == "SETUP" ? "," : "," + with_digits(found->points, 2);
    }
    text += "\n";
  }
  return text;
}

std::vector<std::string> repeated_names(const std::vector<StudentGrade>& grades) {
  std::map<std::string, std::vector<std::string>> keys;
  for (const StudentGrade& grade : grades) keys[grade.student].push_back(grade.key);
  std::vector<std::string> lines;
  for (const auto& [student, all] : keys) {
    if (all.size() < 2) continue;
    lines.push_back(concat(student, ":"));
    for (const std::string& key : all) lines.back() += " " + key;
  }
  return lines;
}

void write_class_files(const std::filesystem::path& folder, const ClassReport& report) {
  replace_file(folder / "grades.csv", grades_csv(report));
  replace_file(folder / "class.html", class_html(report));
}

}  // namespace lockstep::grading
