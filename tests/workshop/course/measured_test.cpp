#include "measured.hpp"

#include <fstream>
#include <string>

#include "base/error.hpp"
#include "support/catch.hpp"
#include "temporary_tree.hpp"

using namespace lockstep;
using namespace lockstep::checks;

namespace {

const std::string kRecord = R"({"link": {"alpha_us": 19.04}, "rows": [
  {"ranks": 2, "bytes": 1024, "system": "a", "us": 3.456, "speed": {"tcp": 1.5}},
  {"ranks": 4, "bytes": 1024, "system": "a", "us": 9.5, "speed": {"tcp": null}},
  {"ranks": 2, "bytes": 1024, "system": "b c", "us": 1234.5, "speed": {"tcp": 2.25}},
  {"ranks": 4, "bytes": 1024, "system": "b c", "us": 77, "speed": {"tcp": 4}},
  {"ranks": 4, "bytes": 2048, "system": "b c", "us": 88, "speed": {"tcp": 5}}]})";

const std::string kDirective =
    "<!-- measured: ../../m.json\nranks: key ranks\nbytes: key bytes\n"
    "a: us where system=a\nb, c: us where system=b c\n-->\n";
const std::string kHeader = "| ranks | bytes | a | b, c |\n|---|---|---|---|\n";

course::MarkdownFile parse(const std::string& lesson) {
  return lockstep::course::parse_markdown({"chapters/01_x/README.md", course::split_lines(lesson)});
}

Problems measurement_problems(const std::string& lesson) {
  return check_measured(TemporaryTree(Files{{"m.json", kRecord}}).root(), parse(lesson));
}

// The lesson as update_lessons would write it.
std::string updated(const std::string& lesson) {
  const TemporaryTree tree(Files{{"m.json", kRecord}});
  std::string text;
  for (const std::string& line : with_measured_values(tree.root(), parse(lesson)).lines) text += line + "\n";
  return text;
}

// The only problem of a lesson.
std::string problem_of(const std::string& lesson) {
  const Problems problems = measurement_problems(lesson);
  return problems.size() == 1 ? problems[0] : concat(problems.size(), " problems");
}

}  // namespace

TEST_CASE("A measured table shows what its file says, rounded to the digits it shows", "[course]") {
  CHECK(measurement_problems(kDirective + kHeader + "| 2 | 1 KiB | 3.46 | 1234 |\n| 4 | 1024 | 9.5 | 77 |\n").empty());
  CHECK(problem_of(kDirective + kHeader + "| 2 | 1 KiB | 3.45 | 1234 |\n") ==
        kPlace + "9 does not show what was measured (update_lessons puts it right): | 2 | 1 KiB | 3.46 | 1234 |");
  CHECK(
      measurement_problems(kDirective + kHeader + "| 2 | 1 KiB | 3.46 | 1235 |\n| 4 | 1 KiB | 9.50 | 76 |\n").size() ==
      2);
}

TEST_CASE("A measured output of a program is held against its file, and keeps its columns", "[course]") {
  const std::string directive =
      "<!-- measured: ../../m.json where bytes=1024, ranks=4\nname: key system\nus: us\ntcp: speed.tcp\n-->\n";
  const std::string block = "```text\nname  us  tcp\nb c   77    4\n```\n";
  CHECK(measurement_problems(directive + block).empty());
  CHECK(updated(directive + "```text\nname      us  tcp\nb c   12345    5\n```\n") ==
        directive + "```text\nname      us  tcp\nb c      77    4\n```\n");
  CHECK(updated(directive + "```text\nname   us  tcp\nb c     5    5\n```\n") ==
        directive + "```text\nname   us  tcp\nb c    77    4\n```\n");
  CHECK(problem_of(directive + "```text\nname  us  tcp\na    9.5    4\n```\n") ==
        kPlace + "8: ../../m.json: there is no number speed.tcp where bytes=1024, ranks=4, system=a");
}

TEST_CASE("Measured numbers in a sentence are held against their file", "[course]") {
  const std::string directive =
      "<!-- measured: ../../m.json\nalpha {link.alpha_us} us\n"
      "takes {us where ranks=2, system=a}, not {us where ranks=2, system=b c}\n-->\n";
  CHECK(measurement_problems(directive + "Here alpha 19.0\nus (it takes 3.5, not\n1234).\n\nalpha 20 us\n").empty());
  CHECK(updated(directive + "Here alpha 7.00\nus: takes 9, not 8.\n") ==
        directive + "Here alpha 19.04\nus: takes 3, not 1234.\n");
  CHECK(problem_of(directive + "Here alpha 18 us, it takes 3, not 1234.\n") ==
        kPlace +
            "5 does not show what was measured (update_lessons puts it right): Here alpha 19 us, it takes 3, not "
            "1234.");
  CHECK(problem_of(directive + "Here it takes 3, not 1234.\n") ==
        kPlace + "1: <!-- measured: ../../m.json: the paragraph does not say \"alpha {link.alpha_us} us\"");
}

TEST_CASE("What a measured comment names must exist, once", "[course]") {
  const std::string table = "| ranks | x |\n|---|---|\n| 2 | 3 |\n";
  const auto problem = [&](const std::string& comment) {
    return problem_of("<!-- measured: " + comment + "\n-->\n" + table);
  };
  CHECK_THAT(problem("../../n.json\nranks: key ranks\nx: us"), ContainsSubstring("does not exist"));
  CHECK_THAT(problem("../../../m.json\nranks: key ranks\nx: us"), ContainsSubstring("does not exist"));
  CHECK_THAT(problem("../../m.json\nranks: key ranks\ny: us"), ContainsSubstring("the columns are not those"));
  CHECK_THAT(problem("../../m.json\nranks: key ranks\nx: us"), ContainsSubstring("more than one row has ranks=2"));
  CHECK_THAT(problem("../../m.json\nranks: key ranks\nx: us where system=d"),
             ContainsSubstring("no row has ranks=2, system=d"));
  CHECK_THAT(problem("../../m.json\nranks: key ranks\nx: ms where system=a"),
             ContainsSubstring("there is no number ms"));
  CHECK_THAT(problem("../../m.json\nranks: key ranks\nx us"), ContainsSubstring("is no \"column: field\""));
  CHECK_THAT(problem("../../m.json where a\nranks: key ranks\nx: us"), ContainsSubstring("\"a\" is no field=value"));
  CHECK_THAT(problem("../../m.json"), ContainsSubstring("lists no columns"));
  CHECK_THAT(problem_of("<!-- measured: ../../m.json\n"), ContainsSubstring("the comment does not end"));
  CHECK_THAT(problem_of("<!-- measured: ../../m.json\nx: us\n-->\n"), ContainsSubstring("nothing stands below"));
  CHECK_THAT(problem_of(kDirective + kHeader + "| 2 | 1 KiB | 3.46 |\n"), ContainsSubstring("it has 3 columns"));
  CHECK(measurement_problems("```text\n<!-- measured: ../../n.json -->\n```\n").empty());  // only shown
}

TEST_CASE("Times and rates in a lesson say where they come from", "[course]") {
  for (const char* table :
       {"| ranks | us |\n|---|---|\n| 2 | 3 |\n", "| ranks | time (ms) |\n|---|---|\n| 2 | 3.5 |\n",
        "| model | speed |\n|---|---|\n| tiny | 3.5 GB/s |\n", "| model | tok/s |\n|---|---|\n| tiny | 12345 |\n",
        "Microseconds on a machine:\n\n| ranks | ring |\n|---|---|\n| 2 | 3 |\n",
        "| ranks | time, s |\n|---|---|\n| 2 | 3 |\n", "```text\nring  us\n2      3\n```\n",
        "```\nname  speed\nring  3.5 GB/s\n```\n"}) {
    CAPTURE(table);
    const Problems problems = check_unmarked_tables(parse(table));
    REQUIRE(problems.size() == 1);
    CHECK_THAT(problems[0], ContainsSubstring("has times or rates without <!-- measured: ... -->"));
  }
  for (const char* table :
       {"| ranks | steps |\n|---|---|\n| 2 | 3 |\n", "| option | seconds |\n|---|---|\n| a | as told |\n",
        "<!-- not measured -->\n| ranks | us |\n|---|---|\n| 2 | 3 |\n",
        "<!-- run -->\n```text\n$ x\nring  us\n2      3\n```\n",
        "```text\nstar  2 alpha + 2 n / beta\nring  6 alpha\n```\n", "| sizes |\n|---|\n| 16 GB/s are 16 |\n",
        "[a.txt, lines 1 to 2](a.txt#L1-L2)\n```text\nring  us\n2      3\n```\n"}) {
    CAPTURE(table);
    CHECK(check_unmarked_tables(parse(table)).empty());
  }
}
