#include "rhythm.hpp"

#include <string>

#include "course/doings.hpp"
#include "support/catch.hpp"
#include "temporary_tree.hpp"

using namespace lockstep::checks;
using lockstep::course::DoingKind;
using lockstep::course::split_lines;

namespace {

// Ten words a line.
std::string words(std::size_t count) {
  std::string text;
  for (std::size_t i = 1; i <= count; ++i) text += i % 10 == 0 || i == count ? "word\n" : "word ";
  return text;
}

lockstep::course::MarkdownFile parsed(const std::string& lesson) {
  return lockstep::course::parse_markdown({kPlace.substr(0, kPlace.size() - 1), split_lines(lesson)});
}

Problems rhythm_problems(const std::string& lesson) { return check_rhythm(parsed(lesson)); }

std::size_t word_count(const std::string& lesson) {
  std::size_t sum = 0;
  for (const std::size_t count : lockstep::course::words_by_line(parsed(lesson))) sum += count;
  return sum;
}

const std::string kQuestion = "<!-- predict id=bytes tolerance=0: sent (.*) -->\n<details><summary></summary>\n";
const std::string kExercise = "`./lockstep start 01.2`\n";  // three words

}  // namespace

TEST_CASE("A lesson at its limits is accepted, whatever follows the last doing", "[course]") {
  CHECK(
      rhythm_problems(words(400) + kQuestion + words(900) + kQuestion + words(897) + kExercise + words(5000)).empty());
  CHECK(rhythm_problems(words(400)).empty());
  CHECK(rhythm_problems("").empty());
}

TEST_CASE("Too many words before the first doing are rejected", "[course]") {
  CHECK(rhythm_problems(words(401) + kQuestion) ==
        Problems{kPlace + "42: 401 words before the first doing; at most 400"});
  CHECK(rhythm_problems(words(398) + kExercise) ==
        Problems{kPlace + "41: 401 words before the first doing; at most 400"});
  CHECK(rhythm_problems(words(401)) == Problems{kPlace + "1: 401 words and nothing to do; at most 400"});
}

TEST_CASE("Too many words between two doings are rejected", "[course]") {
  CHECK(rhythm_problems(kQuestion + words(901) + kQuestion + words(898) + kExercise) ==
        Problems{kPlace + "94: 901 words since the doing in line 1; at most 900",
                 kPlace + "186: 901 words since the doing in line 94; at most 900"});
}

TEST_CASE("Three predictions in a row are rejected, two and an exercise are not", "[course]") {
  const std::string panel = "Try [the ring](../../docs/site/panels/ring.html#all-gather).\n";
  const std::string detective = "./lockstep case 01.A\n";
  CHECK(rhythm_problems(kQuestion + kQuestion + kExercise + panel + kQuestion + detective + kQuestion + panel).empty());
  CHECK(rhythm_problems(kExercise + kQuestion + panel + kQuestion + kQuestion) ==
        Problems{kPlace + "5: 3 doings in a row, from line 2, without an exercise or a case; at most 2",
                 kPlace + "7: 3 doings in a row, from line 4, without an exercise or a case; at most 2"});
}

TEST_CASE("The words of a lesson are those that its reader sees", "[course]") {
  CHECK(word_count("Two words\n```sh\n$ ./lockstep run 01\n```\n~~~\nmore\n~~~\n") == 2);
  CHECK(word_count("<!-- a comment -->\nOne <!-- of\nseveral lines\n--> two.\n") == 2);
  CHECK(word_count("<details><summary>Folded: three words</summary>\n\nand two\n</details>\n") == 5);
  CHECK(word_count("See [the ring](../02_ring/README.md#why-it-works), and `send_all()`: <img src=\"a.svg\">\n") == 5);
  CHECK(word_count("2(P-1)/P of 1,000 -- it isn't 0.5 - + ... step-by-step\n") == 9);
  CHECK(word_count("`<!-- no comment`\nseen\n") == 3);
  CHECK(word_count("x² and Gödel\n") == 3);
}

TEST_CASE("Doings are found in the text, not in blocks and comments", "[course]") {
  const auto doings = lockstep::course::doings_in(
      parsed("First ./lockstep start 01.12, then `./lockstep case 06.A`.\n```sh\n./lockstep start 01.3\n"
             "<!-- predict id=no: (x) -->\n```\n<!-- run: ./lockstep start 01.4 -->\n<!-- predict id=bytes: (x) -->\n"
             "[a](x.html) [panel\nof the ring](../docs/site/panels/ring.html)\n"
             "[<img src=\"ring.svg\">](../docs/site/panels/ring.html), the same one\n"));
  REQUIRE(doings.size() == 4);
  CHECK(doings[0].name == "01.12");
  CHECK(doings[1].name == "06.A");
  CHECK(doings[1].kind == DoingKind::kCase);
  CHECK(doings[1].index == 0);
  CHECK(doings[2].name == "bytes");
  CHECK(doings[2].index == 6);
  CHECK(doings[3].name == "ring");
  CHECK(doings[3].kind == DoingKind::kPanel);
}

TEST_CASE("All chapters' lessons are checked, and no other page", "[course]") {
  const std::string lesson = words(401);
  CHECK(check_rhythms(TemporaryTree(Files{{"chapters/01_x/README.md", lesson},
                                          {"chapters/01_x/part/README.md", lesson},
                                          {"chapters/01_x/notes.md", lesson},
                                          {"docs/a/README.md", lesson}})
                          .root()) == Problems{kPlace + "1: 401 words and nothing to do; at most 400"});
}

TEST_CASE("lessons: doing comes first", "[course][repository]") {
  for (const std::string& problem : check_rhythms(LOCKSTEP_SOURCE_DIR)) FAIL_CHECK(problem);
}
