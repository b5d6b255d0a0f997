#include "lessons.hpp"

#include <filesystem>
#include <string>

#include "course/predictions.hpp"
#include "support/catch.hpp"
#include "temporary_tree.hpp"

using namespace lockstep::checks;

namespace {

const std::string kCode = "// one\nint main() {\n  if (ready) {\n    go();\n  }\n}\n";

Problems lesson_problems(const std::string& lesson, const std::string& more_path = "x.txt",
                         const std::string& more = "") {
  return check_lessons(
      TemporaryTree(Files{{"chapters/01_x/README.md", lesson}, {"chapters/01_x/a.cpp", kCode}, {more_path, more}})
          .root());
}

}  // namespace

TEST_CASE("Links to files, lines and headings that exist are accepted", "[course]") {
  CHECK(lesson_problems(
            "# The *ring*, in `C++`\n[a](a.cpp) [b](a.cpp#L2-L6) [c](#the-ring-in-c) <img src=\"../../x.txt\">\n"
            "[web](https://example.org/nothing) `[no](link)`\n```text\n[no](link)\n```\n")
            .empty());
}

TEST_CASE("Broken links are rejected", "[course]") {
  CHECK(lesson_problems("[a](b.cpp)\n") == Problems{kPlace + "1: the link to b.cpp does not exist"});
  CHECK(lesson_problems("[a](a.cpp#L2-L7)\n") ==
        Problems{kPlace + "1: the link to a.cpp#L2-L7 names lines that do not exist; the file has 6"});
  CHECK(lesson_problems("# Head\n[a](#heed)\n") ==
        Problems{kPlace + "2: the link to #heed names a heading that does not exist"});
  CHECK(lesson_problems("| <a id=\"ring\"></a>ring |\n[a](#ring)\n").empty());
  CHECK(lesson_problems("| <a id=\"ring\"></a>ring |\n[a](#rings)\n").size() == 1);
  CHECK(lesson_problems("[a](../../../etc/passwd)\n") ==
        Problems{kPlace + "1: the link to ../../../etc/passwd leaves the project"});
}

TEST_CASE("What GitHub or Doxygen does not render is rejected", "[course]") {
  for (const char* line :
       {"text[^1]", "> [!NOTE]", "- [ ] task", "so $x+1$ is", "see @param x", "good :tada: !", "<script>x</script>",
        "a vector<int> here", "```mermaid\n```", "<details><summary>What is `x`?</summary>A</details>"}) {
    CAPTURE(line);
    CHECK(lesson_problems(std::string(line) + "\n").size() == 1);
  }
  CHECK(lesson_problems("It costs $5 and $6. `@param` `vector<int>`, a@b.org, 10 < x > 3\n"
                        "<!-- <script> -->\n<details><summary>Q</summary>A</details>\n")
            .empty());
}

TEST_CASE("An excerpt must equal the lines that its link names, less indentation", "[course]") {
  CHECK(lesson_problems("[a](a.cpp#L3-L5)\n\n```cpp\nif (ready) {\n  go();\n}\n```\n").empty());
  CHECK(lesson_problems("[a](a.cpp#L2-L6)\n```cpp\nint main() {\n…\n}\n```\n").empty());
  CHECK(lesson_problems("[a](a.cpp#L3-L5)\n```cpp\nif (steady) {\n  go();\n}\n```\n") ==
        Problems{kPlace + "2 is not what chapters/01_x/a.cpp says in lines 3 to 5 (if the code has only moved: "
                          "update_lessons)"});
  CHECK(lesson_problems("[a, lines 1 to 3](a.cpp#L3-L5)\n```cpp\nif (ready) {\n  go();\n}\n```\n").size() == 1);
  CHECK(lesson_problems("[a](a.cpp#L3-L4)\n```cpp\nif (ready) {\n  go();\n}\n```\n").size() == 1);
}

TEST_CASE("C++ in a lesson comes from a file or is marked as a sketch", "[course]") {
  CHECK(lesson_problems("Text.\n```cpp\nint x;\n```\n") ==
        Problems{kPlace + "2 shows C++ without a link to its lines above it (or <!-- sketch -->)"});
  CHECK(lesson_problems("<!-- sketch -->\n```cpp\nint x;\n```\n").empty());
  CHECK(lesson_problems("", "docs/a.md", "```cpp\nint x;\n```\n").empty());
}

TEST_CASE("Counts in the text are those of the derived file", "[course]") {
  const std::string derived = "// DERIVES FROM chapters/01_x/a.cpp new<=9 changed<=9\nint extra;  // NEW\n" + kCode;
  const auto check = [&](const std::string& paragraph) {
    return lesson_problems("<!-- counts: b.cpp -->\n" + paragraph + "\n", "chapters/01_x/b.cpp", derived);
  };
  CHECK(check("It has 1 new line\nand 0 changed ones.").empty());
  CHECK(check("It has 2 new lines, 0 changed.") ==
        Problems{kPlace + "1: chapters/01_x/b.cpp has 1 new lines; the paragraph does not say so"});
  CHECK(lesson_problems("<!-- counts: a.cpp -->\n1 new\n") ==
        Problems{kPlace + "1 counts chapters/01_x/a.cpp, which is no derived file"});
}

TEST_CASE("Ranges of excerpts whose code has moved are put right", "[course]") {
  const TemporaryTree tree(Files{{"a.cpp", kCode}});
  const auto update = [&](const std::string& text) {
    return with_updates(tree.root(),
                        lockstep::course::parse_markdown({"a.md", lockstep::course::split_lines(text)}))[0];
  };
  CHECK(update("[a](a.cpp#L1-L3):\n```cpp\nif (ready) {\n  go();\n}\n```\n") == "[a](a.cpp#L3-L5):");
  CHECK(update("[a](a.cpp#L1-L3)\n```cpp\nint main() {\n…\n}\n```\n") == "[a](a.cpp#L2-L6)");
  CHECK(update("[a, lines 1 to 3](a.cpp#L1-L3)\n```cpp\nif (ready) {\n  go();\n}\n```\n") ==
        "[a, lines 3 to 5](a.cpp#L3-L5)");
  CHECK(update("[a, lines 1 to 3](a.cpp#L3-L5)\n```cpp\nif (ready) {\n  go();\n}\n```\n") ==
        "[a, lines 3 to 5](a.cpp#L3-L5)");
  CHECK(update("[a](a.cpp#L1-L3)\n```cpp\nnowhere\n```\n") == "[a](a.cpp#L1-L3)");
}

TEST_CASE("The project's Markdown agrees with its files", "[course][repository]") {
  for (const std::string& problem : check_lessons(LOCKSTEP_SOURCE_DIR)) FAIL_CHECK(problem);
}

TEST_CASE("A question must be of its form, and the block below it must show the answer", "[course]") {
  const std::string comment = "<!-- predict id=bytes unit=bytes tolerance=5%: sent (\\S+) bytes -->\n";
  const std::string summary = "<details><summary>How many <b>bytes</b> &lt; 9\nare sent?</summary>\n\n";
  const std::string block = "<!-- run -->\n```text\n$ send\nsent ~6000±1 bytes\n```\n</details>\n";
  CHECK(lesson_problems(comment + summary + block).empty());
  CHECK(lesson_problems(comment + "\n" + summary + block).size() == 1);
  CHECK(lesson_problems(comment + summary + "</details>\n").size() == 1);
  CHECK(lesson_problems(comment + summary + "<!-- run -->\n```text\n$ send\n…\n```\n</details>\n") ==
        Problems{kPlace + "1: the block below shows no answer to bytes"});
  CHECK(lesson_problems(comment + summary + block + comment + summary + block).size() == 1);
  CHECK(lesson_problems("<!-- predict id=bytes: sent (.*) bytes -->\n" + summary + block).size() == 1);

  const auto lesson =
      lockstep::course::parse_markdown({"a.md", lockstep::course::split_lines(comment + summary + block)});
  const auto questions = lockstep::course::predictions_in(lesson);
  REQUIRE(questions.size() == 1);
  CHECK(questions[0].question == "How many bytes < 9 are sent?");
  CHECK(lockstep::course::value_in(questions[0], {"receives", "sent 6,001 bytes", "sent 7 bytes"}) == 6001.0);
  CHECK_FALSE(lockstep::course::value_in(questions[0], {"receives"}));
  CHECK(lockstep::course::is_right(questions[0], 5700, 6000));
  CHECK_FALSE(lockstep::course::is_right(questions[0], 5699, 6000));
}

TEST_CASE("Every lesson asks at least two questions before it shows the answers", "[course]") {
  const std::filesystem::path root = LOCKSTEP_SOURCE_DIR;
  for (const auto& chapter : std::filesystem::directory_iterator(root / "chapters")) {
    if (!chapter.is_directory()) continue;
    INFO(chapter.path().filename().string());
    const auto lesson =
        lockstep::course::parse_markdown(lockstep::course::read_text_file(chapter.path() / "README.md", "README.md"));
    CHECK(lockstep::course::predictions_in(lesson).size() >= 2);
  }
}
