// class.html: one page without scripts or external resources.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <sstream>
#include <string_view>

#include "base/error.hpp"
#include "base/terminal.hpp"
#include "grading/class_report.hpp"
#include "grading/markup.hpp"

namespace lockstep::grading {
namespace {

constexpr const char* kStyle = R"(
:root { --ink: #1d2733; --soft: #5d6b7a; --line: #dde3ea; --page: #f5f7fa; --card: #ffffff; --accent: #2f6fde; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 32px 24px 64px; }
h1 { font-size: 26px; margin: 0 0 4px; } h2 { font-size: 18px; margin: 36px 0 10px; }
p { margin: 4px 0 12px; color: var(--soft); }
.tiles { display: flex; flex-wrap: wrap; gap: 12px; margin: 20px 0 8px; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 12px 18px; min-width: 130px; }
.tile b { display: block; font-size: 24px; line-height: 1.25; } .tile span { color: var(--soft); font-size: 13px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; font-size: 13px; color: var(--soft); background: #fafbfd; }
th, td { padding: 7px 12px; border-bottom: 1px solid var(--line); white-space: nowrap; } tr:last-child td { border-bottom: 0; }
td.wide { white-space: normal; min-width: 280px; } td.number, th.number { text-align: right; }
td.cell { text-align: center; min-width: 76px; } td.cell small { display: block; font-size: 11px; opacity: .75; }
.bar { display: inline-block; width: 110px; height: 8px; border-radius: 4px; background: #e6ebf2; vertical-align: middle; margin-right: 10px; }
.bar i { display: block; height: 8px; border-radius: 4px; background: var(--accent); }
.tag { display: inline-block; padding: 1px 8px; border-radius: 9px; font-size: 12px; background: #eef1f5; color: var(--soft); }
.bad { background: #fde8e6; color: #a12a1f; } .good { background: #e3f4e8; color: #1c6b37; } .odd { background: #fff3d6; color: #7a5600; }
footer { margin-top: 40px; color: var(--soft); font-size: 13px; }
)";

std::string number(double value, int digits = 1) {
  std::string text = with_digits(value, digits);
  return digits > 0 && text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
}

std::string tag(const std::string& text, const char* kind = "") {
  return concat("<span class=\"tag ", kind, "\">", escaped(text), "</span>");
}

// From red over yellow to green, pale enough for text on top.
std::string shade(double share) {
  return concat("style=\"background: hsl(", static_cast<int>(8 + 122 * std::clamp(share, 0.0, 1.0)), " 62% 90%)\"");
}

std::string tile(const std::string& value, const std::string& name) {
  return concat("<div class=\"tile\"><b>", escaped(value), "</b><span>", escaped(name), "</span></div>");
}

bool is_graded(const StudentGrade& grade) { return grade.status == "graded"; }

// Of an even number of values, the mean of the two in the middle.
double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::string tiles(const ClassReport& report) {
  std::vector<double> shares;
  double seconds = 0;
  for (const StudentGrade& grade : report.grades) {
    seconds += grade.seconds;
    if (is_graded(grade) && grade.max_points() > 0) shares.push_back(100 * grade.points() / grade.max_points());
  }
  const std::string median = shares.empty() ? "-" : number(median_of(shares), 0) + " %";
  const auto count = static_cast<double>(std::max<std::size_t>(report.grades.size(), 1));
  return concat("<div class=\"tiles\">",
                tile(std::to_string(report.grades.size()), report.grades.size() == 1 ? "submission" : "submissions"),
                tile(median, "median of points"),
                tile(std::to_string(std::ranges::count_if(report.grades, std::not_fn(is_graded))), "not graded"),
                tile(number(seconds / count) + " s", "per submission"), "</div>\n");
}

// A row per exercise, of those who were graded.
std::string exercises(const ClassReport& report) {
  std::string text =
      "<h2>Exercises</h2>\n<div class=\"card\"><table><tr><th>exercise</th><th class=\"number\">handed in</th>"
      "<th class=\"number\">passed</th><th class=\"number\">mean of those handed in</th></tr>\n";
  for (const std::string& id : report.settings.exercises) {
    std::size_t handed_in = 0, passed = 0;
    double points = 0, most = 0;
    for (const StudentGrade& grade : report.grades) {
      const auto found = std::ranges::find(grade.exercises, id, &ExerciseGrade::id);
      if (!is_graded(grade) || found == grade.exercises.end() || found->verdict == "missing") continue;
      ++handed_in;
      if (found->verdict == "passed") ++passed;
      points += found->points;
      most = found->max_points;
    }
    const std::string mean =
        handed_in > 0 ? concat(number(points / static_cast<double>(handed_in)), " of ", number(most)) : "-";
    text += concat("<tr><td>", id, "</td><td class=\"number\">", handed_in, "</td><td class=\"number\">", passed,
                   "</td><td class=\"number\">", mean, "</td></tr>\n");
  }
  return text + "</table></div>\n";
}

std::string cell_of(const StudentGrade& grade, const std::string& id) {
  const auto found = std::ranges::find(grade.exercises, id, &ExerciseGrade::id);
  if (found == grade.exercises.end() || found->verdict == "SETUP") return "<td class=\"cell\">-</td>";
  const double share = found->max_points > 0 ? found->points / found->max_points : 0;
  return concat("<td class=\"cell\" ", shade(share), ">", number(found->points, 2), "<small>", escaped(found->verdict),
                found->is_flaky ? " (flaky)" : "", "</small></td>");
}

std::string students(const ClassReport& report) {
  std::string text = "<h2>Students</h2>\n<div class=\"card\"><table><tr><th>student</th><th>points</th>";
  for (const std::string& id : report.settings.exercises) text += concat("<th>", id, "</th>");
  text += "<th></th></tr>\n";
  for (const StudentGrade& grade : report.grades) {
    const double share = grade.max_points() > 0 ? grade.points() / grade.max_points() : 0;
    text += concat("<tr><td><a href=\"students/", escaped(grade.key), "/feedback.md\">", escaped(grade.student), "</a>",
                   grade.student == grade.key ? "" : concat(" <small>", escaped(grade.key), "</small>"), "</td><td>");
    if (is_graded(grade))
      text += concat("<span class=\"bar\"><i style=\"width:", static_cast<int>(share * 100), "%\"></i></span>",
                     number(grade.points(), 2), " of ", number(grade.max_points(), 2));
    else
      text += tag(grade.status, "bad");
    text += "</td>";
    for (const std::string& id : report.settings.exercises) text += cell_of(grade, id);
    text += "<td class=\"wide\">";
    for (const std::string& problem : grade.problems) text += tag(problem, "odd") + " ";
    text += "</td></tr>\n";
  }
  return text + "</table></div>\n";
}

// Verdicts that are not failures of a student's code.
constexpr std::array<std::string_view, 5> kNoFailures = {"passed", "missing", "TODO", "REFERENCE", "SETUP"};

// Students with similar failures, by the common part.
using Groups = std::map<std::pair<std::string, std::string>, std::vector<std::string>>;

std::string groups_table(const std::string& title, const std::string& explanation, const char* column,
                         const Groups& groups) {
  if (groups.empty()) return "";
  std::vector<const Groups::value_type*> sorted;
  for (const auto& group : groups) sorted.push_back(&group);
  std::ranges::stable_sort(sorted, std::greater(), [](const auto* group) { return group->second.size(); });
  std::string text = concat("<h2>", title, "</h2>\n<p>", explanation,
                            "</p>\n<div class=\"card\"><table><tr><th>exercise</th>"
                            "<th>",
                            column, "</th><th class=\"number\">students</th><th>who</th></tr>\n");
  for (const auto* group : sorted) {
    std::string who;
    for (const std::string& name : group->second) who += (who.empty() ? "" : ", ") + name;
    text += concat("<tr><td>", escaped(group->first.first), "</td><td class=\"wide\">", escaped(group->first.second),
                   "</td><td class=\"number\">", group->second.size(), "</td><td class=\"wide\">", escaped(who),
                   "</td></tr>\n");
  }
  return text + "</table></div>\n";
}

std::string failures(const ClassReport& report) {
  Groups named, unnamed;
  for (const StudentGrade& grade : report.grades) {
    for (const ExerciseGrade& exercise : grade.exercises) {
      for (const std::string& name : exercise.likely) named[{exercise.id, name}].push_back(grade.key);
      const bool has_failed = std::ranges::find(kNoFailures, exercise.verdict) == kNoFailures.end();
      if (has_failed && exercise.likely.empty())
        unnamed[{exercise.id, failure_fingerprint(exercise)}].push_back(grade.key);
    }
  }
  return groups_table("Mistakes with a name",
                      "A submission counts for the entry of the bank of mistakes that it behaves like; if several "
                      "entries behave alike, for each of them.",
                      "mistake", named) +
         groups_table("Failures without a name", "Equal failures of several students suggest a new entry of the bank.",
                      "first failure", unnamed);
}

std::string slowest(const ClassReport& report) {
  constexpr std::size_t kShown = 8;
  std::vector<std::pair<double, std::string>> rows;
  for (const StudentGrade& grade : report.grades)
    for (const ExerciseGrade& exercise : grade.exercises)
      rows.emplace_back(exercise.seconds, concat("<td>", escaped(grade.key), "</td><td>", exercise.id, "</td><td>",
                                                 tag(exercise.verdict, exercise.verdict == "passed" ? "good" : "bad"),
                                                 exercise.is_flaky ? tag("flaky", "odd") : "", "</td>"));
  std::ranges::sort(rows, std::greater());
  if (rows.size() > kShown) rows.resize(kShown);
  std::string text =
      "<h2>Slowest</h2>\n<div class=\"card\"><table><tr><th>student</th><th>exercise</th><th>verdict</th>"
      "<th class=\"number\">seconds</th></tr>\n";
  for (const auto& [seconds, row] : rows)
    text += concat("<tr>", row, "<td class=\"number\">", number(seconds), "</td></tr>\n");
  return text + "</table></div>\n";
}

std::string protections(const ClassReport& report) {
  std::string text =
      concat("<h2>Protections while grading</h2>\n<p>Sandbox: ", escaped(describe(report.settings.sandbox)),
             ". Each line was tried from inside.</p>\n<div class=\"card\"><table>\n");
  for (const Protection& one : report.protections)
    text += concat("<tr><td>", escaped(one.name), "</td><td>",
                   one.holds ? tag("active", "good") : tag("NOT ACTIVE", "bad"), "</td></tr>\n");
  return text + "</table></div>\n";
}

}  // namespace

std::string class_html(const ClassReport& report) {
  std::string ids;
  for (const std::string& id : report.settings.exercises) ids += (ids.empty() ? "" : ", ") + id;
  return concat(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<title>Grades of a class</title><style>",
      kStyle, "</style></head><body><main>\n<h1>Grades</h1>\n<p>Exercises ", ids, "; release ",
      escaped(report.settings.release.tag), ", commit ", escaped(report.settings.release.commit.substr(0, 10)), "; ",
      report.settings.seeds.empty() ? "public inputs" : "points from secret inputs", "</p>\n", tiles(report),
      students(report), exercises(report), failures(report), slowest(report), protections(report),
      "<footer>Written by ./lockstep grade. Points are those of the automatic part; grades.csv has the same "
      "numbers.</footer>\n</main></body></html>\n");
}

}  // namespace lockstep::grading
