#include "lesson_commands.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "base/error.hpp"
#include "lessons.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep::checks;
using namespace std::chrono_literals;

namespace {

Problems command_problems(const std::string& lesson) {
  const lockstep::test::TemporaryFolder folder;
  return check_commands(lockstep::course::parse_markdown({"a.md", lockstep::course::split_lines(lesson)}),
                        folder.path(), folder.path());
}

std::string block(const std::string& directive, const std::string& content) {
  return "<!-- " + directive + " -->\n```text\n" + content + "```\n";
}

}  // namespace

TEST_CASE("Lines match literally, by wildcard and within a tolerance", "[course]") {
  CHECK(line_matches("step  3", " step 3 "));
  CHECK_FALSE(line_matches("step 3", "step 30"));
  CHECK(line_matches("loss ~2.31±0.05, …", "loss 2.36, 17 ms"));
  CHECK_FALSE(line_matches("loss ~2.31±0.05", "loss 2.37"));
  CHECK_FALSE(line_matches("loss ~2.31±0.05", "loss nan"));
  CHECK(line_matches("~-1e-3±1e-4", "-0.00105"));
  CHECK(line_matches("a … c", "a b c"));
  CHECK_FALSE(line_matches("a … c", "a b d"));
}

TEST_CASE("Outputs are compared line by line, or in any order", "[course]") {
  CHECK(compare_output({"a", "…", "d"}, {"a", "b", "c", "d", ""}, false).empty());
  CHECK_THAT(compare_output({"a", "b"}, {"a", "c"}, false), ContainsSubstring("expected\n    b\n"));
  CHECK_FALSE(compare_output({"a"}, {"a", "b"}, false).empty());
  CHECK_FALSE(compare_output({}, {"a"}, false).empty());
  CHECK_FALSE(compare_output({"a", "b"}, {"b", "a"}, false).empty());
  CHECK(compare_output({"a", "b"}, {"b", "a"}, true).empty());
  CHECK_FALSE(compare_output({"a", "a"}, {"a", "b"}, true).empty());
  CHECK_FALSE(compare_output({"a"}, {"b", "a"}, true).empty());
}

TEST_CASE("A marked block's commands run and must print what stands below them", "[course]") {
  CHECK(command_problems(block("run", "$ echo one\none\n$ printf '2.0\\n' \\\n  && echo three\n~2.1±0.2\nthree\n"))
            .empty());
  CHECK(command_problems("```text\n$ false\n```\n").empty());
  CHECK(command_problems(block("run: echo hidden", "$ lockstep shown\nhidden\n")).empty());
  CHECK(command_problems(block("run unordered", "$ echo b; echo a\na\nb\n")).empty());
  CHECK(command_problems(block("run exit=3", "$ exit 3\n")).empty());
}

TEST_CASE("A block whose command prints something else is rejected with what it printed", "[course]") {
  const Problems problems = command_problems(block("run", "$ echo two\none\n"));
  REQUIRE(problems.size() == 1);
  CHECK(problems[0] == "a.md:2: echo two does not print as shown; expected\n    one\n  in what it printed:\n    two");
}

TEST_CASE("A wrong exit status, a hang and a block without command are rejected", "[course]") {
  CHECK_THAT(command_problems(block("run", "$ exit 3\n")).at(0), ContainsSubstring("ended with status 3 instead of 0"));
  CHECK_THAT(command_problems(block("run timeout=1", "$ sleep 30\n")).at(0),
             ContainsSubstring("did not end within 1 s"));
  CHECK_THAT(command_problems(block("run", "text\n")).at(0), ContainsSubstring("shows no '$ command'"));
  CHECK_THROWS_AS(command_problems(block("run unorderd", "$ true\n")), lockstep::FormatError);
}

TEST_CASE("Commands in a table's rows run, and each must print what the row shows", "[course]") {
  const std::string head =
      "```sh\nGREETING=hello\n```\n<!-- run rows timeout=5 -->\n| case | try it | what you see |\n|---|---|---|\n";
  CHECK(
      command_problems(head + "| a | `echo $GREETING there` | `hello`, then `hello …ere` |\n\n| b | `false` | `no` |\n")
          .empty());
  CHECK(command_problems(head + "| a | `echo hello; exit 3` | `hello` |\n").empty());
  CHECK_THAT(command_problems(head + "| a | `true` | `x` |\n| b | `echo one` | `one`, `two` |\n").at(1),
             ContainsSubstring("a.md:8: echo one does not print \"two\"\n    one"));
  CHECK_THAT(command_problems(head + "| a | nothing | `x` |\n").at(0), ContainsSubstring("has no code"));
  CHECK_THAT(command_problems("<!-- run rows -->\ntext\n").at(0), ContainsSubstring("no table follows"));
}

TEST_CASE("What a command leaves behind is ended with it", "[course]") {
  const auto result = run_command("sleep 30 & exit 0", "/", "/", 300ms);
  CHECK(result.was_stopped);
  CHECK(run_command("kill -9 $$", "/", "/", 5s).exit_status == 137);
}

TEST_CASE("Output in a lesson has at most 80 columns, commands and failures aside", "[course]") {
  const auto widths = [](const std::string& lesson) {
    return check_output_widths(lockstep::course::parse_markdown({"a.md", lockstep::course::split_lines(lesson)}));
  };
  const std::string wide(81, 'x'), fitting = "\u2026" + std::string(79, 'x');
  CHECK(widths(block("run", "$ echo " + wide + "\n" + fitting + "\n")).empty());
  CHECK(widths("```text\n" + wide + "\n```\n" + block("run exit=1", "$ false\n" + wide + "\n")).empty());
  CHECK(widths(block("run", "$ true\n" + fitting + "\n" + wide + "\n")) ==
        Problems{"a.md:2: 81 columns of output, at most 80: " + wide});
}

TEST_CASE("lessons: output has at most 80 columns", "[course][repository]") {
  for (const lockstep::course::MarkdownFile& lesson : chapter_lessons(LOCKSTEP_SOURCE_DIR)) {
    const std::string place = lesson.text.place(0);
    const bool may_be_wide = std::ranges::any_of(
        std::array{"/05_", "/06_", "/08_"}, [&](const char* name) { return place.find(name) != std::string::npos; });
    if (may_be_wide) continue;
    for (const std::string& problem : check_output_widths(lesson)) FAIL_CHECK(problem);
  }
}
