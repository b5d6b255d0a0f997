// `lockstep grade` refuses invalid requests before it grades anything.
#include <unistd.h>

#include <filesystem>

#include "base/error.hpp"
#include "base/file.hpp"
#include "grading/private_files.hpp"
#include "grading/sandbox.hpp"
#include "grading/secret_number.hpp"
#include "grading/student_files.hpp"
#include "grading/submissions.hpp"
#include "grading_runs.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/temporary_folder.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

// A class of one, in a folder that a user for submissions can reach.
class SmallClass {
 public:
  SmallClass() {
    fs::permissions(folder_.path(), fs::perms::others_exec | fs::perms::others_read, fs::perm_options::add);
    const fs::path file = in() / "alice" / "work" / "02.1_reduce_scatter" / "reduce_scatter.cpp";
    fs::create_directories(file.parent_path());
    fs::copy_file(course_root() / "tests/workshop/grading/submissions/is_right.cpp", file);
  }
  [[nodiscard]] fs::path in() const { return folder_.path() / "in"; }
  [[nodiscard]] fs::path out() const { return folder_.path() / "out"; }
  [[nodiscard]] fs::path file(const std::string& name, const std::string& text, fs::perms permissions) const {
    write_file(folder_.path() / name, text);
    fs::permissions(folder_.path() / name, permissions);
    return folder_.path() / name;
  }
  [[nodiscard]] test::Finished grade(std::vector<std::string> words, const std::string& path = "") const {
    words.insert(words.end(), {"--only", "02.1"});
    return grade_folder(in(), out(), words, path.empty() ? Variables{} : Variables{{"PATH", path}});
  }

 private:
  using Variables = std::vector<std::pair<std::string, std::string>>;

  test::TemporaryFolder folder_;
};

constexpr auto kPrivate = fs::perms::owner_read | fs::perms::owner_write;

}  // namespace

TEST_CASE("a secret on the command line, or in a file that others may read, is refused", "[grading]") {
  const SmallClass course;
  CHECK_THAT(course.grade({"--secret-seed", "abc"}).err, ContainsSubstring("--secret-seed-file FILE"));
  for (const char* option : {"--secret-seed-file", "--seeds"}) {
    for (const auto more : {fs::perms::group_read, fs::perms::others_read, fs::perms::others_write}) {
      const test::Finished refused = course.grade({option, course.file("open", "{\"02.1\": 1}", kPrivate | more)});
      CHECK(refused.exit_code == 2);
      CHECK_THAT(refused.err, ContainsSubstring("others may read it: chmod 600"));
    }
    CHECK(course.grade({option, course.file("empty", "\n", kPrivate)}).exit_code == 2);
    CHECK(course.grade({option, "/nonexistent"}).exit_code != 0);
  }
  const test::Finished damaged = course.grade({"--seeds", course.file("seeds", "top secret", kPrivate)});
  CHECK(damaged.exit_code != 0);
  CHECK(damaged.err.find("top secret") == std::string::npos);
  CHECK(!fs::exists(course.out() / "students"));
}

TEST_CASE("a file of seeds that leaves out a graded exercise is refused", "[grading]") {
  const SmallClass course;
  const fs::path seeds = course.file("seeds", R"({"02.2": 4711, "2.1": 4712})", kPrivate);
  const test::Finished refused = course.grade({"--seeds", seeds});
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("has no seed for 02.1: "));
  CHECK(refused.err.find("4711") == std::string::npos);
  CHECK(!fs::exists(course.out()));
  CHECK_THROWS_WITH(seeds_from_file(seeds, {"02.1", "02.2", "02.3"}), ContainsSubstring("for 02.1, 02.3: "));
  CHECK(seeds_from_file(seeds, {"02.2"}).at("02.2") == 4711);
}

TEST_CASE("options that would be ignored, or fail everybody, are refused", "[grading]") {
  const SmallClass course;
  const fs::path seeds = course.file("seeds", R"({"02.1": 1})", kPrivate), key = course.file("key", "k", kPrivate);
  for (const auto& [words, why] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--seeds", seeds, "--secret-seed-file", key}, "not both"},
           {{"--canvas-column", "101"}, "with --canvas-gradebook"},
           {{"--patience", "0"}, "--patience"},
           {{"--patience", "nan"}, "--patience"}}) {
    const test::Finished refused = course.grade(words);
    INFO(refused.out << refused.err);
    CHECK(refused.exit_code == 2);
    CHECK_THAT(refused.err, ContainsSubstring(why));
    CHECK(!fs::exists(course.out()));
  }
}

TEST_CASE("results are not written among the submissions, where they would be one", "[grading]") {
  const SmallClass course;
  for (const fs::path& out : {course.in(), course.in() / "out", course.in() / "new" / ".." / "out"}) {
    const test::Finished refused = grade_folder(course.in(), out, {"--only", "02.1"});
    INFO(out << refused.out << refused.err);
    CHECK(refused.exit_code == 2);
    CHECK_THAT(refused.err, ContainsSubstring("would be among the submissions"));
  }
  CHECK(std::distance(fs::directory_iterator(course.in()), fs::directory_iterator()) == 1);
}

TEST_CASE("a secret is read without its line break, from a file of its owner alone", "[grading]") {
  const SmallClass course;
  CHECK(read_secret(course.file("key", "a b\r\n\n", kPrivate)) == "a b");
  CHECK_THROWS_AS(read_secret(course.file("key2", "a", kPrivate | fs::perms::group_read)), UsageError);
  CHECK_THROWS_AS(read_secret(course.in()), Error);
}

TEST_CASE("two graders do not write into one folder", "[grading]") {
  const SmallClass course;
  const FolderLock lock(course.out());
  const test::Finished second = course.grade({});
  CHECK(second.exit_code == 2);
  CHECK_THAT(second.err, ContainsSubstring("another ./lockstep grade is at work"));
  CHECK_THROWS_AS(FolderLock(course.out()), UsageError);
  CHECK_NOTHROW(FolderLock(course.in()));
}

TEST_CASE("without a sandbox nobody is graded, unless that is asked for", "[grading]") {
  const SmallClass course;
  const fs::path tools = course.in().parent_path() / "tools";
  fs::create_directories(tools);
  write_file(tools / "bwrap", "#!/bin/sh\nexit 1\n");  // like containers that forbid namespaces
  fs::permissions(tools / "bwrap", fs::perms::owner_all);
  const std::string path = concat(tools.string(), ":", std::getenv("PATH"));
  const test::Finished refused = course.grade({}, path);
  INFO(refused.out << refused.err);
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("--no-sandbox"));
  CHECK_THAT(refused.err, ContainsSubstring("solutions, tests and other submissions cannot be read"));
  CHECK(!fs::exists(course.out() / "grades.csv"));
  CHECK(!fs::exists(course.out() / "students"));

  const test::Finished graded = course.grade({"--no-sandbox"}, path);
  INFO(graded.out << graded.err);
  const Sandbox limits_only(test::built_program("lockstep_confine"), 0, SandboxKind::kLimitsOnly);
  if (const fs::path closed = limits_only.closed_folder(course_root()); !closed.empty()) {  // such as a clone in /root
    CHECK(graded.exit_code == 2);
    CHECK_THAT(graded.err, ContainsSubstring("may not enter " + closed.string()));
    return;
  }
  CHECK(graded.exit_code == 0);
  const auto grade = read_student_grade(course.out() / "students" / "alice");
  REQUIRE(grade);
  CHECK(grade->points() == grade->max_points());
}

TEST_CASE("a folder that submissions' user may not enter is named, outermost first", "[grading]") {
  if (::geteuid() != 0) test::skip("only root starts submissions as another user");
  const test::TemporaryFolder folder;
  const fs::path outer = folder.path() / "outer", inner = outer / "inner";
  fs::create_directories(inner);
  const fs::perms open = fs::perms::owner_all | fs::perms::others_exec;
  for (const fs::path& path : {folder.path(), outer, inner}) fs::permissions(path, open);
  const Sandbox limits_only("/confine", 61000, SandboxKind::kLimitsOnly);
  CHECK(limits_only.closed_folder(inner).empty());
  fs::permissions(inner, fs::perms::owner_all);
  CHECK(limits_only.closed_folder(inner) == inner);
  fs::permissions(outer, fs::perms::owner_all);
  CHECK(limits_only.closed_folder(inner) == outer);
  CHECK(Sandbox("/confine", 61000, SandboxKind::kBubblewrapAsRoot).closed_folder(inner).empty());
}

TEST_CASE("a second round says who is graded anew, and who is in no table any more", "[grading]") {
  require_complete_sandbox();
  const SmallClass course;
  fs::remove_all(course.in() / "alice");
  for (const char* name : {"ann", "bob", "cy"}) write_file(course.in() / concat(name, ".zip"), "no zip");  // refused
  const test::Finished first = course.grade({});
  INFO(first.out << first.err);
  REQUIRE(first.exit_code == 0);
  CHECK_THAT(first.out, !ContainsSubstring("graded before") && !ContainsSubstring("earlier grading"));

  fs::remove(course.in() / "ann.zip");
  write_file(course.in() / "bob.zip", "another file");
  const test::Finished second = course.grade({});
  INFO(second.out << second.err);
  CHECK_THAT(second.out, ContainsSubstring("1 are graded already") && ContainsSubstring("1 were graded before"));
  CHECK_THAT(second.out,
             ContainsSubstring("1 student of an earlier grading") && ContainsSubstring("grades.csv: ann\n"));

  const test::Finished third = course.grade({"--seeds", course.file("seeds", R"({"02.1": 7})", kPrivate)});
  INFO(third.out << third.err);
  CHECK_THAT(third.out, ContainsSubstring("2 were graded before"));
}

TEST_CASE("what cannot be read costs nobody else a grade", "[grading]") {
  const SmallClass course;
  fs::create_directories(course.in() / "broken");
  fs::create_symlink("/proc/1/mem", course.in() / "linked.zip");
  write_file(course.in() / "broken.zip", "");
  std::vector<std::string> ignored;
  const std::vector<Task> tasks = find_submissions(course.in(), "settings", course.out(), ignored);
  REQUIRE(tasks.size() == 3);
  CHECK(tasks[0].key == "alice");
  CHECK(tasks[1].key == "broken");
  CHECK(tasks[2].key == "broken_");
  CHECK(ignored == std::vector<std::string>{"linked.zip"});
}

}  // namespace lockstep::grading
