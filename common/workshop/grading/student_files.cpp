#include "grading/student_files.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "base/terminal.hpp"
#include "grading/markup.hpp"
#include "grading/private_files.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHiddenText = "it fails with inputs that are not shown";

std::string number(double value) {
  std::string text = with_digits(value, 2);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text;
}

// The explanation for an exercise without checks.
std::string reason_of(const ExerciseGrade& exercise) {
  if (exercise.verdict == "missing") return "not handed in";
  if (exercise.verdict == "TODO" && exercise.checks.empty()) return "the file is the template, unchanged";
  if (exercise.verdict == "REFERENCE") return "the reference solution, taken with use-reference: no points";
  if (exercise.verdict == "BUILD") return "it does not compile or link:\n" + exercise.compiler;
  if (exercise.verdict == "SETUP") return "not graded, for a reason that is not in your code; ask your instructor";
  return "";
}

std::string text_of(const CheckGrade& check) {
  if (check.is_hidden) return concat(check.verdict, ": ", kHiddenText);
  std::string text = concat(check.verdict, check.summary.empty() ? "" : ": ", check.summary);
  for (const std::string& line : check.evidence) text += "\n  " + line;
  if (!check.next.empty()) text += "\nnext: " + check.next;
  return text;
}

bool is_first_failure(const ExerciseGrade& exercise, const CheckGrade& check) {
  const auto failed = std::ranges::find_if(exercise.checks, [](const CheckGrade& one) { return !one.has_passed(); });
  return failed != exercise.checks.end() && &*failed == &check;
}

std::string likely_text(const ExerciseGrade& exercise) {
  std::string text;
  for (const std::string& one : exercise.likely_text)
    text += concat(exercise.likely_text.size() == 1 ? "This looks like: " : "This may be: ", one, ".\n");
  return text;
}

// The points of each check; their sum is that of the exercise.
std::vector<std::pair<double, double>> shares(const ExerciseGrade& exercise) {
  std::vector<std::pair<double, double>> all;
  double sum = 0;
  for (const CheckGrade& check : exercise.checks)
    if (!(check.is_given && check.has_passed())) sum += check.points;
  for (const CheckGrade& check : exercise.checks) {
    const bool counts = !(check.is_given && check.has_passed()) && sum > 0;
    const double most = counts ? exercise.max_points * check.points / sum : 0;
    all.emplace_back(check.has_passed() ? most : 0, most);
  }
  return all;
}

nlohmann::json test_entry(const std::string& name, const std::string& number, double score, double most,
                          const std::string& output) {
  return {{"number", number},
          {"name", name},
          {"score", score},
          {"max_score", most},
          {"output", output},
          {"visibility", "visible"},
          {"status", score >= most ? "passed" : "failed"}};
}

std::string exercise_markdown(const ExerciseGrade& exercise) {
  std::string text = concat("## ", exercise.id, " ", markdown_line(exercise.title), ": ", number(exercise.points),
                            " of ", number(exercise.max_points), "\n\n");
  const std::string reason = reason_of(exercise);
  if (!reason.empty()) return text + markdown_block(reason) + "\n";
  for (const CheckGrade& check : exercise.checks) {
    text += concat("- ", check.has_passed() ? "passed" : check.verdict, ": ", markdown_line(check.name),
                   check.is_hidden ? concat(" (", kHiddenText, ")") : "", "\n");
  }
  text += "\n";
  for (const CheckGrade& check : exercise.checks) {
    if (!is_first_failure(exercise, check) || check.is_hidden) continue;
    text += concat("The first that fails, ", markdown_line(check.name), ":\n\n", markdown_block(text_of(check)), "\n");
  }
  const std::string likely = likely_text(exercise);
  return likely.empty() ? text : text + likely + "\n";
}

}  // namespace

nlohmann::json gradescope_results(const StudentGrade& grade) {
  nlohmann::json tests = nlohmann::json::array();
  for (const ExerciseGrade& exercise : grade.exercises) {
    const std::string reason = reason_of(exercise);
    if (!reason.empty())
      tests.push_back(
          test_entry(concat(exercise.id, " ", exercise.title), exercise.id, 0, exercise.max_points, reason));
    const auto points = shares(exercise);
    for (std::size_t i = 0; i < exercise.checks.size(); ++i) {
      const CheckGrade& check = exercise.checks[i];
      std::string output = check.has_passed() ? "" : text_of(check);
      if (is_first_failure(exercise, check) && !exercise.likely_text.empty()) output += "\n" + likely_text(exercise);
      tests.push_back(test_entry(concat(exercise.id, " ", check.name), concat(exercise.id, ".", i + 1), points[i].first,
                                 points[i].second, output));
    }
  }
  nlohmann::json json = {{"score", grade.points()},       {"execution_time", grade.seconds},
                         {"visibility", "visible"},       {"output_format", "text"},
                         {"test_output_format", "text"},  {"test_name_format", "text"},
                         {"stdout_visibility", "hidden"}, {"tests", tests}};
  std::string output;
  for (const std::string& problem : grade.problems) output += problem + "\n";
  json["output"] = output;
  return json;
}

std::string junit_xml(const StudentGrade& grade) {
  std::ostringstream out;
  out << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"" << escaped(grade.key) << "\">\n";
  for (const ExerciseGrade& exercise : grade.exercises) {
    const std::string reason = reason_of(exercise);
    const auto failures =
        std::ranges::count_if(exercise.checks, [](const CheckGrade& one) { return !one.has_passed(); });
    out << "  <testsuite name=\"" << exercise.id << " " << escaped(exercise.title) << "\" tests=\""
        << exercise.checks.size() + !reason.empty() << "\" failures=\""
        << failures + (!reason.empty() && exercise.verdict != "SETUP") << "\" errors=\""
        << (exercise.verdict == "SETUP") << "\" time=\"" << with_digits(exercise.seconds, 3) << "\">\n";
    if (!reason.empty())
      out << "    <testcase classname=\"" << exercise.id << "\" name=\"graded\"><"
          << (exercise.verdict == "SETUP" ? "error" : "failure") << " type=\"" << exercise.verdict << "\">"
          << escaped(reason) << "</" << (exercise.verdict == "SETUP" ? "error" : "failure") << "></testcase>\n";
    for (const CheckGrade& check : exercise.checks) {
      out << "    <testcase classname=\"" << exercise.id << "\" name=\"" << escaped(check.name) << "\"";
      if (check.has_passed())
        out << "/>\n";
      else
        out << "><failure type=\"" << check.verdict << "\">" << escaped(text_of(check)) << "</failure></testcase>\n";
    }
    out << "  </testsuite>\n";
  }
  out << "</testsuites>\n";
  return out.str();
}

std::string feedback_markdown(const StudentGrade& grade) {
  const bool is_graded = grade.status == "graded";
  std::string text =
      concat("# ", markdown_line(grade.student), ": ",
             is_graded ? concat(number(grade.points()), " of ", number(grade.max_points())) : "not graded", "\n\n");
  for (const std::string& problem : grade.problems) text += "- " + markdown_line(problem) + "\n";
  if (!grade.problems.empty()) text += "\n";
  for (const ExerciseGrade& exercise : grade.exercises) text += exercise_markdown(exercise);
  return text;
}

void replace_file(const fs::path& path, const std::string& text) {
  const fs::path unfinished = path.string() + ".new";
  write_file(unfinished, text);
  fs::rename(unfinished, path);
}

void write_student_files(const fs::path& folder, const StudentGrade& grade) {
  make_private_folder(folder.parent_path());
  make_private_folder(folder);
  replace_file(folder / "results.json", dump_json(gradescope_results(grade), 1, BadUtf8::kReplace) + "\n");
  replace_file(folder / "junit.xml", junit_xml(grade));
  replace_file(folder / "feedback.md", feedback_markdown(grade));
  replace_file(folder / "grade.json", dump_json(to_json(grade), 1, BadUtf8::kReplace) + "\n");
}

std::optional<StudentGrade> read_student_grade(const fs::path& folder) {
  try {
    return student_grade_from(parse_json(read_file(folder / "grade.json")));
  } catch (const std::exception&) {
    return std::nullopt;  // missing, or from another version
  }
}

}  // namespace lockstep::grading
