#include "lessons.hpp"

#include <string>

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
  CHECK(lesson_problems("[a](../../../etc/passwd)\n") ==
        Problems{kPlace + "1: the link to ../../../etc/passwd leaves the project"});
}

TEST_CASE("What GitHub or Doxygen does not render is rejected", "[course]") {
  for (const char* line : {"text[^1]", "> [!NOTE]", "- [ ] task", "so $x+1$ is", "see @param x", "good :tada: !",
                           "<script>x</script>", "a vector<int> here", "```mermaid\n```"}) {
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
    return with_updates(tree.root(), parse_markdown({"a.md", lockstep::course::split_lines(text)}))[0];
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
