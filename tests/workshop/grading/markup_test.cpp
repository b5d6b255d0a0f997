// Quotes texts of submissions in Markdown, HTML, and spreadsheets that split lines at commas or at semicolons.
#include "grading/markup.hpp"

#include <vector>

#include "base/error.hpp"
#include "grading/class_report.hpp"
#include "grading/student_files.hpp"
#include "support/catch.hpp"

namespace lockstep::grading {
namespace {

using Catch::Matchers::ContainsSubstring;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines = {""};
  for (const char letter : text) {
    if (letter == '\n')
      lines.emplace_back();
    else
      lines.back() += letter;
  }
  return lines;
}

// The cells that a spreadsheet reads from a line: quotes count only at a cell's beginning.
std::vector<std::string> cells_of(const std::string& line, char separator) {
  std::vector<std::string> cells;
  std::size_t at = 0;
  while (at <= line.size()) {
    std::string cell;
    if (at < line.size() && line[at] == '"') {
      for (++at; at < line.size() && (line[at] != '"' || (at + 1 < line.size() && line[at + 1] == '"')); ++at)
        cell += line[at] == '"' ? line[at++] : line[at];
      ++at;
    }
    while (at < line.size() && line[at] != separator) cell += line[at++];
    cells.push_back(cell);
    ++at;
  }
  return cells;
}

bool is_formula(const std::string& cell) { return cell.find_first_of("=+-@") == 0; }

}  // namespace

TEST_CASE("no cell is a formula, whichever character a spreadsheet splits lines at", "[grading]") {
  for (const char* name : {"=1+1", "+1", "-1", "@SUM(A1)", "x;=1+1", "x\t=1+1", "x,=1+1", "\"x\";=1", "x\r\n=1+1",
                           "\t=1", " =1", "\"=1\"", "'=1", ";=1", "x;;\"=1\"",
                           "\xef\xbc\x9d"
                           "1"}) {
    INFO(name);
    StudentGrade grade{.key = "key", .student = name};
    const Settings settings;
    const std::vector<StudentGrade> grades = {grade};
    const std::vector<Protection> none;
    const std::string table = grades_csv({grades, settings, none, 1});
    const auto lines = lines_of(table);
    REQUIRE(lines.size() == 3);
    CHECK(lines[2].empty());
    for (const char separator : {',', ';', '\t'})
      for (const std::string& cell : cells_of(lines[1], separator)) CHECK(!is_formula(cell));
    CHECK(cells_of(lines[1], ',').size() == 5);
  }
  CHECK(csv_cell("Ada Lovelace") == "Ada Lovelace");
  CHECK(csv_cell("Lovelace, Ada") == "\"Lovelace, Ada\"");
  CHECK(csv_cell("\xef\xbc\x9d"
                 "1")
            .starts_with("'"));
}

TEST_CASE("a block of Markdown ends where it is meant to", "[grading]") {
  for (const char* text : {"```", "a\n````\n# title\n", "~~~\n```text\n", "``` `````` ```", "", "\x1b[2J\r```"}) {
    INFO(text);
    const auto lines = lines_of(markdown_block(text));
    const std::string fence = lines.front().substr(0, lines.front().find('t'));
    CHECK(fence.size() >= 3);
    int closing = 0;
    for (std::size_t i = 1; i < lines.size(); ++i) closing += lines[i].starts_with(fence);
    CHECK(closing == 1);
    CHECK(lines[lines.size() - 2] == fence);
    CHECK(markdown_block(text).find('\x1b') == std::string::npos);
  }
}

TEST_CASE("a line of Markdown holds no heading, link, picture, tag or second line", "[grading]") {
  CHECK(markdown_line("# 10 of 10") == "\\# 10 of 10");
  CHECK(markdown_line("![x](http://example.org)") == "\\!\\[x\\]\\(http\\://example.org)");
  CHECK(markdown_line("see http://example.org :x:") == "see http\\://example.org \\:x:");
  CHECK(markdown_line("10 elements: uneven (P-1) / P") == "10 elements: uneven (P-1) / P");
  CHECK(markdown_line("<img src=x>") == "\\<img src=x\\>");
  CHECK(markdown_line("a\n# b") == "a \\# b");
  CHECK(markdown_line("- a") == "\\- a");
  CHECK(markdown_line("a `b` *c* _d_") == "a \\`b\\` \\*c\\* \\_d\\_");
}

TEST_CASE("entities stand for what HTML and XML reserve, and nothing controls their reader", "[grading]") {
  CHECK(escaped("<a href='x' title=\"y\">&") == "&lt;a href=&#39;x&#39; title=&quot;y&quot;&gt;&amp;");
  CHECK(escaped("\x1b[2J\xe2\x80\xae\xff") == "?[2J??");
}

TEST_CASE("feedback shows what a submission said as text", "[grading]") {
  StudentGrade grade{.key = "x", .student = "# Ada <b>", .problems = {"![p](http://example.org)\n# 10 of 10"}};
  grade.exercises = {
      {.id = "02.1", .title = "T", .max_points = 7, .verdict = "BUILD", .compiler = "error: ```\n# 7 of 7\n\x1b[2J"}};
  const std::string feedback = feedback_markdown(grade);
  CHECK_THAT(feedback, ContainsSubstring("# \\# Ada \\<b\\>: 0 of 7"));
  CHECK_THAT(feedback, ContainsSubstring("- \\!\\[p\\]\\(http\\://example.org) \\# 10 of 10\n"));
  CHECK_THAT(feedback, ContainsSubstring("````text\n"));
  CHECK(feedback.find('\x1b') == std::string::npos);
  CHECK_THAT(feedback_markdown({.key = "x", .student = "X", .status = "refused", .problems = {"too large"}}),
             ContainsSubstring("# X: not graded\n\n- too large\n"));
}

}  // namespace lockstep::grading
