// `./lockstep author`, in a project with one chapter and no exercises.
#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "base/file.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

namespace lockstep::exercise {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

class Project {
 public:
  Project() {
    fs::create_directories(root() / "chapters" / "02_ring_all_reduce");
    std::ofstream(root() / "CMakePresets.json") << "{}";
    const fs::path skeleton = "common/workshop/exercise_tool/skeleton";
    fs::create_directories(root() / skeleton);
    fs::copy(fs::path(LOCKSTEP_PROJECT_ROOT) / skeleton, root() / skeleton);
  }
  [[nodiscard]] fs::path root() const { return folder_.path(); }
  [[nodiscard]] test::Finished author(std::vector<std::string> words) const {
    words.insert(words.begin(), {test::built_program("lockstep_exercises"), "author"});
    return test::run_program(words, {{"LOCKSTEP_ROOT", root().string()}});
  }

 private:
  test::TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("a new exercise has all its files, and its template agrees with its solution", "[exercise][author]") {
  const Project project;
  const test::Finished made = project.author({"new", "02.5", "add_up", "Adding up"});
  INFO(made.err);
  REQUIRE(made.exit_code == 0);
  const fs::path given = project.root() / "exercises/02_ring_all_reduce/5_add_up";
  CHECK_THAT(read_file(given / "exercise.json"), ContainsSubstring("\"title\": \"Adding up\""));
  CHECK_THAT(read_file(given / "add_up.cpp"), ContainsSubstring("lockstep::todo(\"02.5 add_up\")"));
  for (const char* file : {"judge.cpp", "mistakes.cpp", "alternatives.cpp"})
    CHECK(fs::exists(project.root() / "tests/exercises/02_ring_all_reduce/5_add_up" / file));
  CHECK(project.author({"templates"}).out.empty());
  const test::Finished again = project.author({"new", "02.5", "other", "Other"});
  CHECK(again.exit_code != 0);
  CHECK_THAT(again.err, ContainsSubstring("02.5 exists already"));
}

TEST_CASE("a lecturer's exercises begin at 50, and the course's count leaves them out", "[exercise][author]") {
  const Project project;
  for (const char* id : {"02.50", "02.51"}) {
    const test::Finished made = project.author({"new", "02", concat("add_up_", id + 3), "Adding up"});
    INFO(made.err);
    REQUIRE(made.exit_code == 0);
    CHECK_THAT(made.out, ContainsSubstring(concat("./lockstep author check ", id)));
    CHECK_THAT(made.out, !ContainsSubstring("note:"));
  }
  CHECK_THAT(project.author({"new", "02.5", "of_the_course", "Title"}).out, ContainsSubstring("take 02.52"));
  const test::Finished progress =
      test::run_program({test::built_program("lockstep_exercises"), "progress"}, {{"LOCKSTEP_ROOT", project.root()}});
  CHECK_THAT(progress.out, ContainsSubstring("0 of 1 passed, and 0 of 2 of your lecturer's own\n"));
}

TEST_CASE("names and numbers that cannot be used are refused", "[exercise][author]") {
  const auto [id, name, message] =
      GENERATE(table<std::string, std::string, std::string>({{"2.5", "add_up", "not the number of an exercise"},
                                                             {"02.0", "add_up", "not the number of an exercise"},
                                                             {"02.5", "AddUp", "AddUp is not a name"},
                                                             {"02.5", "../up", "../up is not a name"},
                                                             {"77.1", "add_up", "there is no chapter 77"}}));
  const test::Finished finished = Project().author({"new", id, name, "Title"});
  CHECK(finished.exit_code != 0);
  CHECK_THAT(finished.err, ContainsSubstring(message));
}

TEST_CASE("a title that would damage the exercise's JSON is refused", "[exercise][author]") {
  const Project project;
  for (const char* title : {"", "The \"ring\"", "a\\b", "two\nlines"}) {
    const test::Finished finished = project.author({"new", "02.5", "add_up", title});
    CHECK(finished.exit_code != 0);
    CHECK_THAT(finished.err, ContainsSubstring("a title is one line without quotation marks"));
  }
  CHECK(!fs::exists(project.root() / "exercises"));
}

TEST_CASE("an adopted submission loses its comments and nothing else", "[exercise][author]") {
  const Project project;
  REQUIRE(project.author({"new", "02.5", "add_up", "Adding up"}).exit_code == 0);
  const fs::path file = project.root() / "handed_in.cpp";
  std::ofstream(file) << "// by Jane\nint f() { /* Jane */ return \"// kept\"[0] + '\"'; }  // end\n";
  REQUIRE(project.author({"adopt", "02.5", file.string(), "negative"}).exit_code == 0);
  const std::string text =
      read_file(project.root() / "tests/exercises/02_ring_all_reduce/5_add_up/adopted/negative.inc");
  CHECK_THAT(text, ContainsSubstring("int f() { return \"// kept\"[0] + '\"'; }"));
  CHECK(text.find("Jane") == std::string::npos);
}

}  // namespace lockstep::exercise
