// A right submission is graded, and one system call of the grader fails: a full disk, a limit, a bad sector. The grade
// is then the right one, or there is none and the error is named: nobody loses a mark for what happens to the grader.
// The calls are those of tests/support/failing_calls.plan: two of them, or with LOCKSTEP_FAILING_CALLS=all all.
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "grading/grade.hpp"
#include "support/catch.hpp"
#include "support/failing_call.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;
using test::FailingCall;
using test::Finished;

const fs::path kRoot = LOCKSTEP_PROJECT_ROOT;

// The submission of "alice", in a folder of its own: the solution of 02.1.
void write_submission(const fs::path& folder) {
  const fs::path work = folder / "alice" / "work" / "02.1_reduce_scatter";
  fs::create_directories(work);
  for (const auto& entry : fs::directory_iterator(kRoot / "solutions" / "02_ring_all_reduce" / "1_reduce_scatter"))
    fs::copy_file(entry.path(), work / entry.path().filename());
}

// Its code is ours: it needs no sandbox, but gets one if there is one.
Finished grade_in(const fs::path& place, std::vector<std::pair<std::string, std::string>> variables) {
  static const bool has_to_be_told =
      test::run_program({test::built_program("lockstep_grade"), "grade", "--help"}).out.find("--no-sandbox") !=
      std::string::npos;
  std::vector<std::string> command{test::built_program("lockstep_grade"),
                                   "grade",
                                   (place / "in").string(),
                                   "--out",
                                   (place / "out").string(),
                                   "--jobs",
                                   "1",
                                   "--reference-counts",
                                   "--only",
                                   "02.1"};
  if (has_to_be_told) command.push_back("--no-sandbox");
  variables.emplace_back("LOCKSTEP_ROOT", kRoot.string());
  return test::Subprocess(command, variables).wait(std::chrono::minutes(5));
}

// The grade of the submission, if it has one that counts.
std::optional<StudentGrade> grade_of(const fs::path& place) {
  try {
    auto grade = read_student_grade(place / "out" / "students" / "alice");
    return grade && grade->status == "graded" ? std::move(grade) : std::nullopt;
  } catch (const Error&) {  // half a file
    return std::nullopt;
  }
}

bool is_right(const StudentGrade& grade) {
  return grade.exercises.size() == 1 && grade.exercises.front().points == grade.exercises.front().max_points;
}

// What a teacher gets to see.
std::string words_of(const Finished& finished, const fs::path& place) {
  std::string words = finished.out + finished.err;
  for (const char* name : {"grade.json", "results.json", "feedback.md"}) {
    std::error_code ignored;
    const fs::path file = place / "out" / "students" / "alice" / name;
    if (fs::exists(file, ignored)) words += read_file(file);
  }
  return words;
}

std::string problem_of(const FailingCall& call, const Finished& finished, const fs::path& place) {
  const auto grade = grade_of(place);
  if (grade && !is_right(*grade)) return concat("an unjust grade: ", dump_json(to_json(*grade), kOneLine));
  if (finished.exit_code >= 128) return concat("it crashed with ", finished.exit_code);
  if ((!grade || finished.exit_code != 0) && !call.is_named_in(words_of(finished, place)))
    return concat("no grade, exit code ", finished.exit_code, ", and no named error");
  if (grade && finished.exit_code == 0) return "";
  const Finished again = grade_in(place, {});
  const auto second = grade_of(place);
  return second && is_right(*second) ? "" : concat("graded again, it has no grade: ", again.out, again.err);
}

}  // namespace

TEST_CASE("a system call of the grader that fails costs nobody a mark", "[grading][failing_calls]") {
  const auto calls = test::chosen_calls(test::planned_calls({"grader"}), 2);
  REQUIRE_FALSE(calls.empty());
  std::size_t happened = 0;
  for (const FailingCall& call : calls) {
    const test::TemporaryFolder place;
    write_submission(place / "in");
    const Finished finished = grade_in(place.path(), call.variables(place / "log"));
    const std::string what = fs::exists(place / "log") ? read_file(place / "log") : "";
    happened += what.empty() ? 0 : 1;
    const std::string problem = problem_of(call, finished, place.path());
    if (test::are_many_calls_chosen())
      std::cout << call.text() << ": "
                << (!problem.empty() ? problem
                    : what.empty()   ? "did not happen"
                                     : "ok")
                << ", exit code " << finished.exit_code << "  " << what << std::endl;
    CAPTURE(call.text(), what, finished.exit_code, finished.out, finished.err);
    CHECK(problem == "");
  }
  CHECK(happened * 20 >= calls.size() * 19);
}

}  // namespace lockstep::grading
