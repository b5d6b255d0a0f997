// lockstep next, and what lockstep progress says of it, in a project with one chapter.
#include <filesystem>

#include "base/file.hpp"
#include "support/catch.hpp"
#include "support/subprocess.hpp"
#include "support/temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace lockstep;

namespace {

const std::string kTwoExercises = R"(# A lesson

<!-- predict id=bytes tolerance=0: (\d+) -->
<details><summary>Predict: how many?</summary>

<!-- run -->
```text
$ echo 7
7
```
</details>

## Two halves

Try [the panel](../../docs/site/panels/ring.html).

**Now do it**: `./lockstep start 07.1`

## By hand

Then `./lockstep case 07.A`, and [the panel](../../docs/site/panels/ring.html#2).

**Now do it**: `./lockstep start 07.2`

Later `./lockstep start 07.1` may be done again.
)";

struct Course {
  Course() {
    write_file(folder / "CMakePresets.json", "{}");
    fs::create_directories(folder / "chapters/07_x");
    write_file(folder / "chapters/07_x/README.md", kTwoExercises);
    add("1", R"(*30 minutes, medium. Read first: "Two halves" (8 minutes) in
[the lesson](../../../chapters/07_x/README.md#two-halves), which sends you here.*)");
    add("2", R"(*20 minutes, easy. Read first: "By hand" in [the lesson](../../../chapters/07_x/README.md).*)");
  }
  void add(const std::string& number, const std::string& below_title) const {
    const fs::path given = folder / "exercises/07_x" / (number + "_part");
    fs::create_directories(given);
    write_file(given / "exercise.json",
               R"({"id": "07.)" + number + R"(", "title": "Part )" + number +
                   R"(", "minutes": 30, "difficulty": "medium", "points": 1, "files": ["a.cpp"]})");
    set_task(number, below_title);
    write_file(given / "a.cpp", "todo();\n");
  }
  void set_task(const std::string& number, const std::string& below_title) const {
    write_file(folder / "exercises/07_x" / (number + "_part") / "TASK.md",
               "# 07." + number + " Part\n\n" + below_title + "\n\n**Goal.** More.\n");
  }
  /// As if the exercise had passed: our code counts as done.
  void finish(const std::string& number) const {
    const fs::path solution = folder / "solutions/07_x" / (number + "_part");
    fs::create_directories(solution);
    write_file(solution / "a.cpp", "done();\n");
    REQUIRE(run({"use-reference", "07." + number}).exit_code == 0);
  }
  [[nodiscard]] test::Finished run(std::vector<std::string> words) const {
    words.insert(words.begin(), test::built_program("lockstep_exercises"));
    return test::run_program(words, {{"LOCKSTEP_ROOT", folder.path().string()}});
  }
  [[nodiscard]] std::string next() const { return run({"next"}).out; }
  test::TemporaryFolder folder;
};

}  // namespace

TEST_CASE("next says what an exercise takes, what to read first, and what the lesson has on the way", "[exercise]") {
  const Course course;
  const std::string text =
      "The next exercise is 07.1, Part 1 (medium, 30 minutes).\n\n"
      "Read first: \"Two halves\" (8 minutes) in the lesson, which sends you here.\n"
      "  chapters/07_x/README.md:13\n\n"
      "On the way there, in chapters/07_x/README.md:\n"
      "  line 3, a prediction: ./lockstep predict 07\n"
      "  line 15, a panel: docs/site/panels/ring.html\n\n"
      "next: ./lockstep start 07.1\n";
  CHECK(course.next() == text);
  CHECK_THAT(course.run({"progress"}).out, ContainsSubstring("0 of 2 passed\n\n" + text));
}

TEST_CASE("next begins after the last exercise that passed, and leaves out what is done", "[exercise]") {
  const Course course;
  write_file(course.folder / "answers.txt", "7\n");
  REQUIRE(course.run({"predict", "7", "--answers", (course.folder / "answers.txt").string()}).exit_code == 0);
  CHECK_THAT(course.next(), !ContainsSubstring("prediction"));
  course.finish("1");
  CHECK(course.next() ==
        "The next exercise is 07.2, Part 2 (medium, 30 minutes).\n\n"
        "Read first: \"By hand\" in the lesson.\n  chapters/07_x/README.md:19\n\n"
        "On the way there, in chapters/07_x/README.md:\n"
        "  line 21, a case: ./lockstep case 07.A\n"
        "  line 21, a panel: docs/site/panels/ring.html\n\n"
        "next: ./lockstep start 07.2\n");
  course.finish("2");
  CHECK(course.next() == "All exercises are done.\n");
}

TEST_CASE("a record of predictions that is cut off or of another kind counts for none", "[exercise]") {
  const Course course;
  fs::create_directories(course.folder / ".lockstep/predictions");
  for (const std::string record : {"", R"({"bytes": {"answer")", R"({"bytes": 7})"}) {
    write_file(course.folder / ".lockstep/predictions/07.json", record);
    const test::Finished progress = course.run({"progress"});
    INFO(record << ": " << progress.err);
    CHECK(progress.exit_code == 0);
    CHECK_THAT(progress.out, ContainsSubstring("next: ./lockstep start 07.1") && !ContainsSubstring(" right"));
  }
}

TEST_CASE("next reads tasks that say less, or in another way", "[exercise]") {
  const Course course;
  const std::string link = "](../../../chapters/07_x/README.md";
  course.set_task("1", "*Read first: \"No heading\" in [the lesson" + link + "), and\n[\"By hand\"" + link +
                           "#by-hand) (5 minutes).*");
  CHECK_THAT(course.next(), ContainsSubstring("Read first: \"No heading\" in the lesson, and \"By hand\" (5 minutes).\n"
                                              "  chapters/07_x/README.md\n  chapters/07_x/README.md:19\n"));
  for (const std::string below :
       {"**Goal:** write it. 30 minutes.", "Plain text. *30 minutes.*", "*30 minutes, hard.*"}) {
    course.set_task("1", below);
    CHECK_THAT(course.next(), !ContainsSubstring("Read first"));
  }
  fs::remove(course.folder / "exercises/07_x/1_part/TASK.md");
  fs::remove(course.folder / "chapters/07_x/README.md");
  CHECK(course.next() == "The next exercise is 07.1, Part 1 (medium, 30 minutes).\n\nnext: ./lockstep start 07.1\n");
}

TEST_CASE("where a copy of the course has no solutions, no command leads to one", "[exercise]") {
  const Course course;
  write_file(course.folder / "exercises/07_x/1_part/hints.md", "# Hints\n\n## 1\n\nLook.\n");
  fs::create_directories(course.folder / "work/07.1_part");
  write_file(course.folder / "work/07.1_part/a.cpp", "todo();\n");
  CHECK_THAT(course.run({"hint", "07.1"}).out, ContainsSubstring("next: ./lockstep check 07.1\n"));
  CHECK_THAT(course.run({"compare", "07.1"}).err, ContainsSubstring("has no solutions"));
  CHECK_THAT(course.run({"author", "check", "07.1"}).err, ContainsSubstring("has no solutions"));
  course.finish("2");
  CHECK_THAT(course.run({"compare", "07.2"}).err, ContainsSubstring("yours first"));
  fs::create_directories(course.folder / "solutions/07_x/1_part");
  CHECK_THAT(course.run({"hint", "07.1"}).out, ContainsSubstring("./lockstep use-reference 07.1"));
}
