#include "grading_runs.hpp"

#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/json.hpp"
#include "grading/process_tree.hpp"
#include "grading/sandbox.hpp"
#include "grading/sandbox_user.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

bool is_one_of(const std::string& word, const std::string& list) {
  return concat("|", list, "|").find(concat("|", word, "|")) != std::string::npos;
}

// True if a user for submissions owns the process.
bool is_of_submissions(const fs::path& process) {
  struct stat status {};
  return ::stat(process.c_str(), &status) == 0 && status.st_uid >= 61000 && status.st_uid <= 61183;
}

}  // namespace

fs::path course_root() { return LOCKSTEP_PROJECT_ROOT; }

test::Finished grade_folder(const fs::path& submissions, const fs::path& out, const std::vector<std::string>& words,
                            const std::vector<std::pair<std::string, std::string>>& variables) {
  std::vector<std::string> command = {
      test::built_program("lockstep_grade"), "grade", submissions.string(), "--out", out.string(), "--jobs", "4"};
  command.insert(command.end(), words.begin(), words.end());
  std::vector<std::pair<std::string, std::string>> all = variables;
  all.emplace_back("LOCKSTEP_ROOT", course_root().string());
  return test::Subprocess(command, all).wait(std::chrono::minutes(20));
}

void require_complete_sandbox() {
  adopt_orphans();
  const SandboxUser user;
  const Sandbox sandbox = Sandbox::best(test::built_program("lockstep_confine"), static_cast<uid_t>(user.id()));
  for (const Protection& one : sandbox.try_protections(course_root() / "solutions" / "README.md")) {
    if (one.holds) continue;
    test::skip(concat("the sandbox is not complete here: ", one.name, " does not hold"));
  }
}

void check_grade(const StudentGrade& grade, const Expected& expected) {
  INFO(expected.key << ": " << dump_json(to_json(grade), 1));
  CHECK(grade.status == expected.status);
  std::string problems;
  for (const std::string& problem : grade.problems) problems += problem + "\n";
  CHECK_THAT(problems, ContainsSubstring(expected.problem));
  if (expected.status != "graded") return;
  REQUIRE(grade.exercises.size() == 1);
  const ExerciseGrade& exercise = grade.exercises.front();
  CHECK(is_one_of(exercise.verdict, expected.verdict));
  CHECK(exercise.points >= expected.least);
  CHECK(exercise.points <= expected.most);
  if (!expected.mistake.empty()) CHECK(exercise.likely == std::vector{expected.mistake});
  // Attacks report "found" if they have succeeded.
  for (const CheckGrade& check : exercise.checks) CHECK(check.summary.find("found") == std::string::npos);
}

std::size_t processes_of_submissions() {
  std::vector<fs::path> left;
  std::error_code gone;
  for (fs::directory_iterator process("/proc", gone), end; !gone && process != end; process.increment(gone)) {
    const std::string name = process->path().filename();
    const bool is_process = std::ranges::all_of(name, [](unsigned char letter) { return std::isdigit(letter) != 0; });
    if (is_process && is_of_submissions(process->path())) left.push_back(process->path());
  }
  for (int i = 0; i < 1200 && !left.empty(); ++i) {
    ::poll(nullptr, 0, 100);
    std::erase_if(left, [](const fs::path& process) { return !is_of_submissions(process); });
  }
  return left.size();
}

}  // namespace lockstep::grading
