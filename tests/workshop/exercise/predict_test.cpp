// lockstep predict, in a project with one small lesson.
#include <filesystem>

#include "base/file.hpp"
#include "exercise_tool/verdict_view.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace lockstep;

namespace {

const std::string kLesson = R"(# A lesson

<!-- predict id=bytes unit=bytes tolerance=5%: sent (\S+) bytes -->
<details><summary>Predict: how many bytes
are sent?</summary>

Not quickly.
</details>

<!-- predict id=steps tolerance=0: in (\d+) steps -->
<details><summary>Predict: in how many steps?</summary>

<!-- run -->
```text
$ echo sent 6,000 bytes in 4 steps
sent 6,000 bytes in 4 steps
```

Each rank sends its chunk in **every** step, see [the
ring](../02_x/README.md), and `2*a*b` is no *emphasis*, however long this line of text becomes.

<!-- not shown -->
- One item.
- Another.

| steps | bytes |
|---|---|
</details>

The text goes on.
)";

struct LessonProject {
  LessonProject() {
    fs::create_directories(folder / "chapters/07_x");
    write_file(folder / "CMakePresets.json", "{}");
    write_file(folder / "chapters/07_x/README.md", kLesson);
  }
  [[nodiscard]] test::Finished run(const std::vector<std::string>& words) const {
    std::vector<std::string> command = {test::built_program("lockstep_exercises")};
    command.insert(command.end(), words.begin(), words.end());
    return test::run_program(command, {{"LOCKSTEP_ROOT", folder.path().string()}});
  }
  [[nodiscard]] test::Finished predict(const std::string& answers) const {
    write_file(folder / "answers.txt", answers);
    return run({"predict", "7", "--answers", (folder / "answers.txt").string()});
  }
  test::TemporaryFolder folder;
};

}  // namespace

TEST_CASE("predict asks first, then runs once what the lesson shows, and compares", "[exercise]") {
  const LessonProject project;
  const test::Finished finished = project.predict("6,100 bytes\n8\n");
  INFO(finished.out << finished.err);
  CHECK(finished.exit_code == 0);
  const std::size_t run = finished.out.find("$ echo sent");
  CHECK(finished.out.find("How many bytes are sent?") < finished.out.find("In how many steps?"));
  CHECK(finished.out.find("In how many steps?") < run);
  CHECK(finished.out.find("$ echo sent", run + 1) == std::string::npos);
  CHECK_THAT(finished.out, ContainsSubstring("right: 6000 bytes (you said 6100)"));
  CHECK_THAT(finished.out, ContainsSubstring("off: it is 4, you said 8, which is 2 times that"));
  CHECK_THAT(finished.out, ContainsSubstring("1 of 2 right"));
  CHECK_THAT(project.run({"progress"}).out, ContainsSubstring("07  1 of 2 right"));
}

TEST_CASE("predict puts its record in the place of the earlier one only when it is whole", "[exercise]") {
  const LessonProject project;
  const fs::path record = project.folder / ".lockstep/predictions/07.json", before = project.folder / "before.json";
  CHECK(project.predict("6000\n4\n").exit_code == 0);
  fs::create_hard_link(record, before);
  const std::string text = read_file(before);
  CHECK(project.predict("1\n2\n").exit_code == 0);
  CHECK(read_file(before) == text);
  CHECK_THAT(project.run({"progress"}).out, ContainsSubstring("07  0 of 2 right"));
}

TEST_CASE("predict takes no answer for an answer, and asks again if one is no number", "[exercise]") {
  const LessonProject project;
  const test::Finished finished = project.predict("many\n\n4\n");
  CHECK_THAT(finished.out, ContainsSubstring("\"many\" does not begin with a number"));
  CHECK_THAT(finished.out, ContainsSubstring("it is 6000 bytes") && ContainsSubstring("1 of 1 right"));
  CHECK_THAT(project.predict("").out, ContainsSubstring("0 of 0 right"));
}

TEST_CASE("predict keeps the earlier answer to a question that is left out", "[exercise]") {
  const LessonProject project;
  CHECK(project.predict("6000\n8\n").exit_code == 0);
  const test::Finished finished = project.predict("\n4\n");
  CHECK_THAT(finished.out, ContainsSubstring("1 of 1 right; earlier answers to the other questions are kept."));
  CHECK_THAT(project.run({"progress"}).out, ContainsSubstring("07  2 of 2 right"));
  CHECK_THAT(project.predict("").out, ContainsSubstring("0 of 0 right"));
  CHECK_THAT(project.run({"progress"}).out, ContainsSubstring("07  2 of 2 right"));

  const fs::path record = project.folder / ".lockstep/predictions/07.json";
  for (const char* text : {"", "[]", "7", R"({"bytes": 1})", R"({"gone": {"is_right": true}})"}) {
    INFO(text);
    write_file(record, text);
    CHECK(project.predict("\n4\n").exit_code == 0);
    CHECK_THAT(project.run({"progress"}).out, ContainsSubstring("07  1 of 1 right"));
  }
}

TEST_CASE("predict prints the lesson's explanation below each result, also to who gave no answer", "[exercise]") {
  const LessonProject project;
  CHECK_THAT(project.predict("6000\n\n").out,
             ContainsSubstring("How many bytes are sent?\n  right: 6000 bytes\n\n  Not quickly.\n\n"
                               "In how many steps?\n  it is 4\n\n"
                               "  Each rank sends its chunk in every step, see the ring, and 2*a*b is no\n"
                               "  emphasis, however long this line of text becomes.\n\n"
                               "  - One item.\n  - Another.\n\n| steps | bytes |\n|---|---|\n\n1 of 1 right."));
}

TEST_CASE("Text is broken at the columns that there are", "[exercise]") {
  CHECK(exercise::wrapped("one two three", 2, 9) == "  one two\n  three\n");
  CHECK(exercise::wrapped("one two three", 2, 8) == "  one\n  two\n  three\n");
  CHECK(exercise::wrapped("incomprehensible", 2, 8) == "  incomprehensible\n");
}

TEST_CASE("predict says which chapters there are not, and what has to be built", "[exercise]") {
  const LessonProject project;
  CHECK_THAT(project.run({"predict", "12"}).err, ContainsSubstring("there is no chapter 12"));
  fs::create_directories(project.folder / "chapters/07_x/programs");
  write_file(project.folder / "chapters/07_x/programs/echo.cpp", "");
  CHECK(project.run({"targets", "predict", "7"}).out == "echo\n");
  std::string lesson = kLesson;
  lesson.replace(lesson.find("$ echo"), 6, "$ ./lockstep run 07 echo");
  write_file(project.folder / "chapters/07_x/README.md", lesson);
  CHECK(project.run({"targets", "predict", "7"}).out == "echo\nlockstep\n");
}

TEST_CASE("run --mine builds nothing if no file of the learner can take part", "[exercise]") {
  const LessonProject project;
  fs::create_directory_symlink(LOCKSTEP_PROJECT_ROOT "/exercises", project.folder / "exercises");
  const test::Finished finished = project.run({"targets", "run", "06", "--mine"});
  CHECK(finished.exit_code == 2);
  CHECK(finished.out.empty());
  CHECK_THAT(finished.err,
             ContainsSubstring("lockstep run: none of your files can train yet: pass one of 02.1 with 02.2, 05.1, "));
}
