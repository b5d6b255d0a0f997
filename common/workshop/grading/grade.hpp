#pragma once
/// @file
/// The results of grading as plain values, and as JSON.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace lockstep::grading {

struct CheckGrade {
  std::string name;
  std::string verdict = "passed";          ///< As in the judge's report: "passed", "WRONG", ...
  double points = 1;                       ///< Relative to the exercise's other checks.
  std::string summary = {};                ///< For the student: the finding.
  std::vector<std::string> evidence = {};  ///< For the student: more lines.
  std::string next = {};                   ///< For the student: one thing to try.
  bool is_hidden = false;                  ///< Fails only with the secret inputs: the student learns only the verdict.
  bool is_given = false;                   ///< The template passes it, too: no points.

  [[nodiscard]] bool has_passed() const { return verdict == "passed"; }
};

struct ExerciseGrade {
  std::string id;  ///< "02.1"
  std::string title;
  double points = 0;                          ///< Awarded.
  double max_points = 0;                      ///< That it can get.
  std::string verdict = "missing";            ///< "passed", the first failing check's verdict, BUILD, TODO, "missing",
                                              ///< SETUP, or REFERENCE if the files are our solution.
  std::vector<CheckGrade> checks = {};        ///< In the judge's order; empty if the build failed.
  std::vector<std::string> likely = {};       ///< Names of the bank's mistakes with the same behaviour.
  std::vector<std::string> likely_text = {};  ///< Their descriptions.
  std::string compiler = {};                  ///< Its errors, if compilation failed.
  std::string setup = {};                     ///< Why grading itself failed; empty if it did not.
  double seconds = 0;                         ///< Wall time.
  bool is_flaky = false;                      ///< Two runs with the same inputs differed; the better one counts.
};

struct StudentGrade {
  std::string key;                            ///< Names its files: the submission's file name without extension.
  std::string student;                        ///< From the manifest, otherwise the key.
  std::string status = "graded";              ///< "graded", "refused" (cannot be graded; gives a reason), "SETUP".
  std::vector<std::string> problems = {};     ///< Notes for the instructor.
  std::vector<ExerciseGrade> exercises = {};  ///< All that count, in the order of their numbers.
  double seconds = 0;                         ///< Wall time.
  std::string basis = {};                     ///< Fingerprint of submission and settings; if it changes, grade again.

  [[nodiscard]] double points() const;        ///< Over all exercises.
  [[nodiscard]] double max_points() const;    ///< Over all exercises.
  [[nodiscard]] double exact_points() const;  ///< points() without any rounding, to be scaled and then rounded once.
};

/// The points of an exercise: its maximum times the weight of the passed checks, relative to all checks that its
/// template does not pass. Rounded to hundredths, so that sums do not depend on their order.
[[nodiscard]] double points_for(const std::vector<CheckGrade>& checks, double max_points);

/// "3 ranks: element # of # expected": the failure without its values, to find equal failures.
[[nodiscard]] std::string failure_fingerprint(const ExerciseGrade& exercise);

/// For grade.json.
[[nodiscard]] nlohmann::json to_json(const StudentGrade& grade);
/// @throws nlohmann::json::exception  It is from another version.
[[nodiscard]] StudentGrade student_grade_from(const nlohmann::json& json);

}  // namespace lockstep::grading
