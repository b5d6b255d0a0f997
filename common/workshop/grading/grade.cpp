#include "grading/grade.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"

namespace lockstep::grading {
namespace {

nlohmann::json to_json(const CheckGrade& check) {
  return {{"name", check.name},        {"verdict", check.verdict},   {"points", check.points},
          {"summary", check.summary},  {"evidence", check.evidence}, {"next", check.next},
          {"hidden", check.is_hidden}, {"given", check.is_given}};
}

CheckGrade check_from(const nlohmann::json& json) {
  return {.name = json.at("name"),
          .verdict = json.at("verdict"),
          .points = json.at("points"),
          .summary = json.at("summary"),
          .evidence = json.at("evidence").get<std::vector<std::string>>(),
          .next = json.at("next"),
          .is_hidden = json.at("hidden"),
          .is_given = json.at("given")};
}

nlohmann::json to_json(const ExerciseGrade& exercise) {
  nlohmann::json checks = nlohmann::json::array();
  for (const CheckGrade& check : exercise.checks) checks.push_back(to_json(check));
  return {{"id", exercise.id},
          {"title", exercise.title},
          {"points", exercise.points},
          {"max_points", exercise.max_points},
          {"verdict", exercise.verdict},
          {"checks", checks},
          {"likely", exercise.likely},
          {"likely_text", exercise.likely_text},
          {"compiler", exercise.compiler},
          {"setup", exercise.setup},
          {"seconds", exercise.seconds},
          {"flaky", exercise.is_flaky}};
}

ExerciseGrade exercise_from(const nlohmann::json& json) {
  ExerciseGrade exercise{.id = json.at("id"),
                         .title = json.at("title"),
                         .points = json.at("points"),
                         .max_points = json.at("max_points"),
                         .verdict = json.at("verdict"),
                         .likely = json.at("likely").get<std::vector<std::string>>(),
                         .likely_text = json.at("likely_text").get<std::vector<std::string>>(),
                         .compiler = json.at("compiler"),
                         .setup = json.at("setup"),
                         .seconds = json.at("seconds"),
                         .is_flaky = json.at("flaky")};
  for (const nlohmann::json& check : json.at("checks")) exercise.checks.push_back(check_from(check));
  return exercise;
}

double rounded(double points) { return std::round(points * 100) / 100; }

double exact_points_for(const std::vector<CheckGrade>& checks, double max_points) {
  double passed = 0, all = 0;
  for (const CheckGrade& check : checks) {
    if (check.is_given && check.has_passed()) continue;  // the template passes it already
    all += check.points;
    if (check.has_passed()) passed += check.points;
  }
  return all > 0 ? max_points * passed / all : 0;
}

}  // namespace

double StudentGrade::points() const {
  double sum = 0;
  for (const ExerciseGrade& exercise : exercises) sum += exercise.points;
  return rounded(sum);
}

double StudentGrade::max_points() const {
  double sum = 0;
  for (const ExerciseGrade& exercise : exercises) sum += exercise.max_points;
  return rounded(sum);
}

double StudentGrade::exact_points() const {
  double sum = 0;
  for (const ExerciseGrade& exercise : exercises)
    sum += exercise.checks.empty() ? exercise.points : exact_points_for(exercise.checks, exercise.max_points);
  return sum;
}

double points_for(const std::vector<CheckGrade>& checks, double max_points) {
  return rounded(exact_points_for(checks, max_points));
}

std::string failure_fingerprint(const ExerciseGrade& exercise) {
  const auto failed = std::ranges::find_if(exercise.checks, [](const CheckGrade& one) { return !one.has_passed(); });
  if (failed == exercise.checks.end()) return exercise.verdict;
  std::string text;
  for (const char letter : concat(failed->verdict, ": ", failed->name, ": ", failed->summary)) {
    const bool is_number = std::isdigit(static_cast<unsigned char>(letter)) != 0;
    if (!is_number) text += letter;
    if (is_number && !text.ends_with('#')) text += '#';
  }
  return text;
}

nlohmann::json to_json(const StudentGrade& grade) {
  nlohmann::json exercises = nlohmann::json::array();
  for (const ExerciseGrade& exercise : grade.exercises) exercises.push_back(to_json(exercise));
  return {{"key", grade.key},           {"student", grade.student},         {"status", grade.status},
          {"problems", grade.problems}, {"exercises", exercises},           {"points", grade.points()},
          {"seconds", grade.seconds},   {"max_points", grade.max_points()}, {"basis", grade.basis}};
}

StudentGrade student_grade_from(const nlohmann::json& json) {
  StudentGrade grade{.key = json.at("key"),
                     .student = json.at("student"),
                     .status = json.at("status"),
                     .problems = json.at("problems").get<std::vector<std::string>>(),
                     .seconds = json.at("seconds"),
                     .basis = json.at("basis")};
  for (const nlohmann::json& exercise : json.at("exercises")) grade.exercises.push_back(exercise_from(exercise));
  return grade;
}

}  // namespace lockstep::grading
