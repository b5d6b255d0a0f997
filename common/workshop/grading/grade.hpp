#pragma once
/// @file
/// What comes out of grading: plain values, and their JSON.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace lockstep::grading {

/// How one check of an exercise ended.
struct CheckGrade {
  std::string name;                        ///< As in the judge.
  std::string verdict = "passed";          ///< As the judge says it: "passed", "WRONG", ...
  double points = 1;                       ///< Its share, relative to the exercise's other checks.
  std::string summary = {};                ///< For the student: what was found.
  std::vector<std::string> evidence = {};  ///< For the student: more lines.
  std::string next = {};                   ///< For the student: one thing to try.
  bool is_hidden = false;                  ///< Fails with the secret inputs alone: the student learns the verdict only.
  bool is_given = false;                   ///< The template passes it, too: no points.

  /// Whether it gives its points.
  [[nodiscard]] bool has_passed() const { return verdict == "passed"; }
};

/// One exercise of one submission.
struct ExerciseGrade {
  std::string id;                             ///< "02.1"
  std::string title;                          ///< In words.
  double points = 0;                          ///< That it gets.
  double max_points = 0;                      ///< That it can get.
  std::string verdict = "missing";            ///< "passed", the first failing check's, BUILD, TODO, "missing", SETUP;
                                              ///< REFERENCE where the files are our solution.
  std::vector<CheckGrade> checks = {};        ///< In the judge's order; none where it was not built.
  std::vector<std::string> likely = {};       ///< Names of mistakes of the bank that behave alike.
  std::vector<std::string> likely_text = {};  ///< In words.
  std::string compiler = {};                  ///< What it said, where it refused.
  std::string setup = {};                     ///< What went wrong with grading itself; empty: nothing.
  double seconds = 0;                         ///< Wall time for all of it.
  bool is_flaky = false;                      ///< Two runs with the same inputs differed; the better one counts.
};

/// One submission.
struct StudentGrade {
  std::string key;                            ///< Names its files: the submission's name without ending.
  std::string student;                        ///< As the manifest says, else the key.
  std::string status = "graded";              ///< "graded", "refused" (not gradable, with the reason), "SETUP".
  std::vector<std::string> problems = {};     ///< What the instructor should see.
  std::vector<ExerciseGrade> exercises = {};  ///< All that count, by number.
  double seconds = 0;                         ///< Wall time for all of them.
  std::string basis = {};  ///< Fingerprint of submission and settings: another one must be graded again.

  [[nodiscard]] double points() const;      ///< Of all exercises.
  [[nodiscard]] double max_points() const;  ///< That they can get.
};

/// The points of an exercise: its maximum times the share of the checks that have passed, of those that its template
/// does not pass. Rounded to hundredths, so that sums do not depend on their order.
[[nodiscard]] double points_for(const std::vector<CheckGrade>& checks, double max_points);

/// "3 ranks: element # of # expected": what stays the same where only values differ, to find equal failures.
[[nodiscard]] std::string failure_fingerprint(const ExerciseGrade& exercise);

/// For grade.json.
[[nodiscard]] nlohmann::json to_json(const StudentGrade& grade);
/// @throws nlohmann::json::exception  It is of another version.
[[nodiscard]] StudentGrade student_grade_from(const nlohmann::json& json);

}  // namespace lockstep::grading
