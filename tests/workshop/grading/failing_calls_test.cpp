// Grades two submissions while one system call of the grader fails, in the process that grades the class or in one that
// grades a submission. Either the class gets its grades, or the failed call is reported: that submission is then not
// graded, and never gets other points. The calls are those of tests/support/failing_calls.plan: by default some of
// them; with LOCKSTEP_FAILING_CALLS=all grading_test "[failing_calls]" all, one line each.
#include <filesystem>
#include <iostream>
#include <map>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"
#include "grading/student_files.hpp"
#include "grading_runs.hpp"
#include "support/catch.hpp"
#include "support/failing_call.hpp"
#include "support/temporary_folder.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;
using test::FailingCall;
using test::Finished;

const std::map<std::string, double> kPoints = {{"is_right", 10.0}, {"does_nothing", 0.0}};  // by submission

// The files that `grade` needs, in a place that a user for submissions can reach.
void make_class(const fs::path& folder) {
  fs::permissions(folder, fs::perms::others_exec | fs::perms::others_read, fs::perm_options::add);
  for (const auto& [name, points] : kPoints) {
    const fs::path file = folder / "in" / name / "work" / "02.1_reduce_scatter" / "reduce_scatter.cpp";
    fs::create_directories(file.parent_path());
    fs::copy_file(course_root() / concat("tests/workshop/grading/submissions/", name, ".cpp"), file);
  }
}

// A grading that hangs has no exit code.
Finished grade_with(const FailingCall& call, const fs::path& folder) try {
  return grade_folder(folder / "in", folder / "out", {"--only", "02.1"}, call.variables(folder / "log"));
} catch (const TimeoutError& error) {
  return {.exit_code = -1, .out = "", .err = error.what()};
}

// The problem of one submission; empty: none. Appends its grade's texts to `words`.
std::string problem_of_grade(const std::string& key, double points, const fs::path& out, std::string& words) {
  const auto grade = read_student_grade(out / "students" / key);
  if (!grade) return "";  // the caller checks that this was reported
  for (const std::string& problem : grade->problems) words += problem + "\n";
  for (const ExerciseGrade& exercise : grade->exercises) words += exercise.setup + "\n";
  if (grade->status != "graded" || grade->points() == points) return "";
  return concat(key, " has ", grade->points(), " points; ");
}

bool has_all_grades(const fs::path& out) {
  for (const auto& [key, points] : kPoints) {
    const auto grade = read_student_grade(out / "students" / key);
    if (!grade || grade->status != "graded") return false;
  }
  return fs::exists(out / "grades.csv");
}

std::string problem_of(const FailingCall& call, const Finished& finished, const fs::path& out) {
  std::string words = finished.out + finished.err, problem;
  for (const auto& [key, points] : kPoints) problem += problem_of_grade(key, points, out, words);
  const bool is_whole = finished.exit_code == 0 && has_all_grades(out);
  if (finished.exit_code == -1) problem += "it hangs; ";
  if (words.find("terminate called") != std::string::npos || finished.exit_code >= 128) problem += "it crashed; ";
  if (!is_whole && !call.is_named_in(words)) problem += "grades are missing, and the error is not named; ";
  if (!is_whole && call.error == "EINTR") problem += "a signal is no reason to fail; ";
  if (!is_whole && call.call == "unlink") problem += "it failed because something could not be removed; ";
  return problem;
}

}  // namespace

TEST_CASE("a system call of the grader that fails costs nobody a point", "[grading][failing_calls]") {
  require_complete_sandbox();
  const auto calls = test::chosen_calls(test::planned_calls({"grader"}), 3);
  REQUIRE_FALSE(calls.empty());
  for (const FailingCall& call : calls) {
    const test::TemporaryFolder folder;
    make_class(folder.path());
    const Finished finished = grade_with(call, folder.path());
    const std::string what = fs::exists(folder.path() / "log") ? read_file(folder.path() / "log") : "";
    const std::string problem = problem_of(call, finished, folder.path() / "out");
    if (test::are_many_calls_chosen())
      std::cout << call.text() << ": " << (problem.empty() ? "ok" : problem) << ", exit code " << finished.exit_code
                << "  " << what << (what.empty() ? "not made\n" : "") << std::flush;
    CAPTURE(call.text(), what, finished.exit_code, finished.out, finished.err);
    CHECK(problem == "");
    CHECK_FALSE(what.empty());
  }
}

}  // namespace lockstep::grading
