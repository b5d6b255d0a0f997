// Submissions of our own solutions: the notes of `use-reference` and `submit`, and the grades.
#include "grading/reference.hpp"

#include <filesystem>
#include <regex>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "exercise/catalogue.hpp"
#include "exercise_tool/records.hpp"
#include "exercise_tool/workspace.hpp"
#include "grading/grade.hpp"
#include "grading/manifest.hpp"
#include "grading/settings.hpp"
#include "grading/student_files.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

namespace lockstep::grading {
namespace {

namespace fs = std::filesystem;
using exercise::Exercise;

const fs::path kCourse = LOCKSTEP_PROJECT_ROOT;

Files files_from(const Exercise& exercise, const char* place) {
  Files files;
  for (const std::string& file : exercise.files)
    files[path_in_submission(exercise, file)] = read_file(exercise.in(kCourse / place) / file);
  return files;
}

// Removes comments and indentation, like a student who hides the origin.
Files disguised(Files files) {
  for (auto& [name, text] : files) text = std::regex_replace(text, std::regex("//[^\n]*|\n +"), "\n\n");
  return files;
}

// A project with exercise 02.1 alone, in which a student works.
class Project {
 public:
  Project() {
    write_file(root() / "CMakePresets.json", "{}");
    for (const char* place : {"exercises", "solutions"}) {
      const fs::path folder = fs::path(place) / "02_ring_all_reduce/1_reduce_scatter";
      fs::create_directories(root() / folder);
      fs::copy(kCourse / folder, root() / folder);
    }
  }
  [[nodiscard]] fs::path root() const { return folder_.path(); }
  [[nodiscard]] fs::path mine() const { return root() / "work/02.1_reduce_scatter/reduce_scatter.cpp"; }
  [[nodiscard]] fs::path zip() const { return root() / "in.zip"; }

  std::string run(std::vector<std::string> command) const {
    command.front() = test::built_program(command.front());
    const test::Finished finished = test::run_program(command, {{"LOCKSTEP_ROOT", root().string()}});
    INFO(finished.out << finished.err);
    REQUIRE(finished.exit_code == 0);
    return finished.out;
  }
  std::string submit() const { return run({"lockstep_grade", "submit", "--student", "Ada", "--out", zip().string()}); }
  [[nodiscard]] Manifest manifest() const {
    return parse_manifest(
        read_submission(zip(), [](const std::string& path) { return path == kManifestName; }).files.at(kManifestName));
  }
  [[nodiscard]] std::vector<std::string> references() const { return manifest().references; }
  [[nodiscard]] StudentGrade grade() const {
    Settings settings;
    settings.exercises = {"02.1"};
    settings.release = {"untagged", "unknown"};
    settings.out = root() / "out";
    fs::create_directories(settings.out);
    write_file(settings.out / "settings.json", to_json(settings).dump());
    run({"lockstep_grade", "grade-one", "--settings", (settings.out / "settings.json").string(), "--submission",
         zip().string(), "--key", "ada", "--basis", "b", "--user", "0"});
    return read_student_grade(settings.folder_of("ada")).value();
  }

 private:
  test::TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("every solution is found to be ours, also without its comments", "[grading]") {
  std::vector<std::string> unclear;
  for (const Exercise& one : exercise::read_catalogue(kCourse)) {
    INFO(one.id);
    const Files ours = files_from(one, "solutions");
    CHECK(origin_of(kCourse, one, ours, false) == Origin::kReference);
    CHECK(origin_of(kCourse, one, files_from(one, "exercises"), true) == Origin::kOwn);
    CHECK(disguised(ours) != ours);
    CHECK(origin_of(kCourse, one, disguised(ours), true) == Origin::kReference);
    if (origin_of(kCourse, one, disguised(ours), false) == Origin::kUnclear) unclear.push_back(one.id);
  }
  CHECK(unclear == std::vector<std::string>{"02.4", "04.1", "04.5"});  // solutions of a few lines
}

TEST_CASE("what differs in a single token, lacks a file, or has nothing to be compared with is somebody's own",
          "[grading]") {
  const auto catalogue = exercise::read_catalogue(kCourse);
  const Exercise& one = find_exercise(catalogue, "02.1");
  Files files = files_from(one, "solutions");
  CHECK(origin_of(kCourse, one, {}, true) == Origin::kOwn);
  const test::TemporaryFolder empty;
  CHECK(origin_of(empty.path(), one, files, true) == Origin::kOwn);
  std::string& text = files.begin()->second;
  text.replace(text.find("++step"), 6, "step++");
  CHECK(origin_of(kCourse, one, files, false) == Origin::kOwn);
}

TEST_CASE("what use-reference has put there is named in the manifest and gets no points", "[grading]") {
  const Project project;
  project.run({"lockstep_exercises", "use-reference", "02.1"});
  CHECK_THAT(project.submit(), ContainsSubstring("the reference solution: no points"));
  CHECK(project.references() == std::vector<std::string>{"02.1"});
  const StudentGrade grade = project.grade();
  REQUIRE(grade.exercises.size() == 1);
  CHECK(grade.exercises.front().verdict == "REFERENCE");
  CHECK(grade.points() == 0);
  CHECK(grade.max_points() == 10);
  CHECK_THAT(feedback_markdown(grade), ContainsSubstring("the reference solution, taken with use-reference"));
  CHECK_THAT(gradescope_results(grade).at("tests").at(0).at("output").get<std::string>(),
             ContainsSubstring("the reference solution, taken with use-reference"));
}

TEST_CASE("a solution that came another way is found, too", "[grading]") {
  const Project project;
  const fs::path solution = project.root() / "solutions/02_ring_all_reduce/1_reduce_scatter/reduce_scatter.cpp";
  fs::create_directories(project.mine().parent_path());
  write_file(project.mine(), std::regex_replace(read_file(solution), std::regex("//[^\n]*"), ""));
  CHECK_THAT(project.submit(), ContainsSubstring("the reference solution: no points"));
  CHECK(project.references() == std::vector<std::string>{"02.1"});
  CHECK(project.grade().exercises.at(0).verdict == "REFERENCE");
}

TEST_CASE("submit says which exercises pass, of the files as they are", "[grading]") {
  const Project project;
  fs::create_directories(project.mine().parent_path());
  write_file(project.mine(), "one");
  const exercise::Workspace workspace{project.root(), project.root() / "build",
                                      exercise::read_catalogue(project.root())};
  const Exercise& one = find_exercise(workspace.catalogue, "02.1");
  CHECK_THAT(project.submit(), ContainsSubstring("not checked   02.1"));

  exercise::Record record;
  const auto remember = [&](const char* verdict, bool is_full) {
    record.last = {{"files", exercise::fingerprint(workspace, one)},
                   {"full", is_full},
                   {"checks", {{{"name", "a"}, {"verdict", verdict}}}}};
    exercise::write_record(workspace, one, record);
  };
  remember("passed", true);
  CHECK_THAT(project.submit(), ContainsSubstring("passes        02.1"));
  CHECK_THAT(project.submit(), ContainsSubstring("1 pass all checks"));
  remember("passed", false);
  CHECK_THAT(project.submit(), ContainsSubstring("passes quick  02.1"));
  CHECK_THAT(project.submit(), ContainsSubstring("next: ./lockstep check 02.1 --full"));
  remember("HANG", true);
  CHECK_THAT(project.submit(), ContainsSubstring("FAILS         02.1"));
  CHECK_THAT(project.submit(), ContainsSubstring("1 fail"));

  remember("passed", true);
  write_file(project.mine(), "two");  // the submission differs from the version that passed
  CHECK_THAT(project.submit(), ContainsSubstring("not checked   02.1"));
}

TEST_CASE("submit takes a name from git that is not UTF-8", "[grading]") {
  if (test::run_program({"git", "--version"}).exit_code != 0) test::skip("git is not installed");
  const Project project;
  fs::create_directories(project.mine().parent_path());
  write_file(project.mine(), "one");
  const test::Finished finished =
      test::run_program({test::built_program("lockstep_grade"), "submit", "--out", project.zip().string()},
                        {{"LOCKSTEP_ROOT", project.root().string()},
                         {"GIT_CONFIG_COUNT", "1"},
                         {"GIT_CONFIG_KEY_0", "user.name"},
                         {"GIT_CONFIG_VALUE_0", "J\xfcrgen"}});
  INFO(finished.err);
  REQUIRE(finished.exit_code == 0);
  CHECK_THAT(finished.out, ContainsSubstring("1 exercise of J\\xfcrgen"));
  CHECK(project.manifest().student == "J\xef\xbf\xbdrgen");
}

TEST_CASE("submit says which sources of the learner's own are not handed in", "[grading]") {
  const Project project;
  fs::create_directories(project.mine().parent_path());
  write_file(project.mine(), "one");
  CHECK(project.submit().find("NOT handed in") == std::string::npos);
  write_file(project.mine().parent_path() / "helper.hpp", "two");
  write_file(project.mine().parent_path() / "notes.md", "three");
  const std::string said = project.submit();
  CHECK_THAT(said, ContainsSubstring("NOT handed in: helper.hpp; put its code into reduce_scatter.cpp"));
  CHECK(said.find("notes.md") == std::string::npos);
}

TEST_CASE("use-reference is remembered while its file is changed, and forgotten where one begins anew", "[grading]") {
  const Project project;
  project.run({"lockstep_exercises", "use-reference", "02.1"});
  // Not C++, so that nothing is built: the verdict does not matter here.
  write_file(project.mine(), "changed");
  CHECK_THAT(project.submit(), ContainsSubstring("begun with use-reference"));
  CHECK(project.references() == std::vector<std::string>{"02.1"});
  const StudentGrade grade = project.grade();
  CHECK(grade.exercises.at(0).verdict != "REFERENCE");
  REQUIRE(!grade.problems.empty());
  CHECK(grade.problems.front() == "02.1: begun with use-reference, and changed since");

  project.run({"lockstep_exercises", "reset", "02.1"});
  CHECK(project.submit().find("use-reference") == std::string::npos);
  CHECK(project.references().empty());
}

}  // namespace lockstep::grading
