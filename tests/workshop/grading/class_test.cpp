// A class of honest, wrong and hostile submissions, graded by the program that instructors run.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "grading/manifest.hpp"
#include "grading/student_files.hpp"
#include "grading_runs.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include "synthetic_class.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

const fs::path kRoot = LOCKSTEP_PROJECT_ROOT;

// A file with a key that only its owner can read.
fs::path key_in(const fs::path& folder) {
  write_file(folder / "key", "a key for tests\n");
  fs::permissions(folder / "key", fs::perms::owner_read | fs::perms::owner_write);
  return folder / "key";
}

}  // namespace

TEST_CASE("a class with attacks gets the right points, and nothing escapes", "[grading]") {
  require_complete_sandbox();
  const test::TemporaryFolder folder;
  const auto expected = make_class(kRoot, folder.path() / "in", release_of(kRoot).tag, ClassSize::kQuick);
  const test::Finished first = grade_folder(folder.path() / "in", folder.path() / "out",
                                            {"--only", "02.1", "--secret-seed-file", key_in(folder.path())});
  INFO(first.out << first.err);
  REQUIRE(first.exit_code == 0);
  for (const Expected& one : expected) {
    const fs::path results = folder.path() / "out" / "students" / one.key;
    const auto grade = read_student_grade(results);
    REQUIRE(grade);
    check_grade(*grade, one);
    for (const char* name : {"results.json", "junit.xml", "feedback.md"}) CHECK(fs::exists(results / name));
  }
  CHECK(!fs::exists(folder.path() / "out" / ".scratch"));
  CHECK(!fs::exists(folder.path() / "escaped.txt"));
  const std::string table = read_file(folder.path() / "out" / "grades.csv");
  CHECK(std::ranges::count(table, '\n') == static_cast<std::ptrdiff_t>(expected.size()) + 1);

  const test::Finished second = grade_folder(folder.path() / "in", folder.path() / "out",
                                             {"--only", "02.1", "--secret-seed-file", key_in(folder.path())});
  CHECK_THAT(second.out, ContainsSubstring(concat(expected.size(), " are graded already")));
  CHECK(read_file(folder.path() / "out" / "grades.csv") == table);
}

// Their programs reserve much memory, and the ranks of 03.1 connect to each other.
TEST_CASE("kernels and NCCL are graded on the emulator, in the sandbox", "[grading]") {
  require_complete_sandbox();
  const test::TemporaryFolder folder;
  const fs::path work = folder.path() / "in" / "alice" / "work";
  for (const auto& [path, name] :
       {std::pair{"03_nccl/1_communicator", "03.1_communicator"}, std::pair{"04_kernels/1_axpy", "04.1_axpy"}}) {
    fs::create_directories(work / name);
    for (const auto& entry : fs::directory_iterator(kRoot / "solutions" / path))
      fs::copy_file(entry.path(), work / name / entry.path().filename());
  }
  const test::Finished graded =
      grade_folder(folder.path() / "in", folder.path() / "out",
                   {"--reference-counts", "--secret-seed-file", key_in(folder.path()), "--only", "03.1", "04.1"});
  INFO(graded.out << graded.err);
  REQUIRE(graded.exit_code == 0);
  const auto grade = read_student_grade(folder.path() / "out" / "students" / "alice");
  REQUIRE(grade);
  REQUIRE(grade->exercises.size() == 2);
  for (const ExerciseGrade& exercise : grade->exercises) {
    INFO(dump_json(to_json(*grade), 1));
    CHECK(exercise.points == exercise.max_points);
  }
}

}  // namespace lockstep::grading
