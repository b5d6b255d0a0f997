#include "lesson_answers.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string_view>

#include "base/text.hpp"
#include "cpp_functions.hpp"
#include "exercise/catalogue.hpp"
#include "lessons.hpp"
#include "release/plan.hpp"

namespace lockstep::checks {
namespace {

namespace fs = std::filesystem;
using exercise::Exercise;

constexpr std::string_view kRegion = "// SOLUTION(";
constexpr std::ptrdiff_t kFewestLines = 3;      // of a part of an answer; fewer coincide by chance
constexpr std::size_t kTellingCharacters = 10;  // shorter lines, such as "return;" and "} else {", occur anywhere

/// The code of some lines, without blanks and comments; lines that tell nothing are left out.
std::vector<std::string> telling_lines(const course::TextFile& file) {
  std::vector<std::string> telling;
  for (std::string line : course::split_lines(code_only(file))) {
    std::erase_if(line, [](unsigned char character) { return std::isspace(character) != 0; });
    if (line.size() >= kTellingCharacters) telling.push_back(std::move(line));
  }
  return telling;
}

AnswerFunction answer(const Exercise& exercise, const course::TextFile& file, const FunctionSpan& span) {
  const auto at = [&](std::size_t line) { return file.lines.begin() + static_cast<std::ptrdiff_t>(line); };
  const auto begin = std::find_if(at(span.first_line - 1), at(span.last_line),
                                  [](const std::string& line) { return line.find('{') != std::string::npos; });
  const auto end = at(span.last_line);
  const course::TextFile body = {file.name, {begin == end ? end : std::next(begin), end}};
  return {exercise.id, span.name, file.name, telling_lines(body)};
}

/// Appends the functions of `file` that have one of the names.
void append_functions(const Exercise& exercise, const course::TextFile& file, const std::set<std::string>& names,
                      std::vector<AnswerFunction>& answers) {
  for (const FunctionSpan& span : find_functions(file)) {
    if (!names.contains(span.name)) continue;
    AnswerFunction found = answer(exercise, file, span);
    if (!found.lines.empty()) answers.push_back(std::move(found));
  }
}

bool has_function(const course::TextFile& file, const std::string& name) {
  return std::ranges::any_of(find_functions(file), [&](const FunctionSpan& span) { return span.name == name; });
}

/// The functions of a solution's file that contain a region, which the learner writes.
std::set<std::string> asked_functions(const course::TextFile& file) {
  std::set<std::string> names;
  for (const FunctionSpan& span : find_functions(file)) {
    for (std::size_t line = span.first_line; line <= span.last_line; ++line)
      if (file.lines[line - 1].find(kRegion) != std::string::npos) names.insert(span.name);
  }
  return names;
}

void append_answers(const fs::path& root, const std::vector<std::string>& files, const Exercise& exercise,
                    LessonAnswers& answers) {
  std::set<std::string> asked;
  for (const std::string& name : exercise.files) {
    const course::TextFile file = read_project_file(root, (exercise.in("solutions") / name).string());
    const std::set<std::string> names = asked_functions(file);
    append_functions(exercise, file, names, answers.functions);
    asked.insert(names.begin(), names.end());
  }
  std::map<std::string, std::set<std::string>> names_by_file;
  for (const release::Giveaway& giveaway : release::giveaways_of(root, exercise)) {
    for (const std::string& path : release::files_of(giveaway, files)) {
      std::set<std::string>& names = names_by_file[path];
      names.insert(asked.begin(), asked.end());
      if (giveaway.function.empty()) continue;
      names.insert(giveaway.function);
      if (!has_function(read_project_file(root, path), giveaway.function))
        answers.problems.push_back(
            concat(exercise.id, ": gives_away names ", giveaway.function, ", which is no function of ", path));
    }
  }
  for (const auto& [path, names] : names_by_file)
    append_functions(exercise, read_project_file(root, path), names, answers.functions);
}

/// The exercises of `<!-- after 02.1 -->`, separated by blanks; empty if the line is no such comment.
std::set<std::string> exercises_of_comment(const std::string& line) {
  const auto comment = course::comment_on(line);
  if (!comment || !comment->starts_with("after ")) return {};
  std::istringstream words(comment->substr(6));
  return {std::istream_iterator<std::string>(words), {}};
}

std::size_t count_of(std::string_view what, std::string_view line) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = line.find(what, at)) != std::string_view::npos; at += what.size()) ++count;
  return count;
}

/// For each line, the exercises that its reader has done: those of the folded blocks around it.
std::vector<std::set<std::string>> done_by_line(const course::MarkdownFile& lesson) {
  std::vector<std::set<std::string>> done;
  std::vector<std::set<std::string>> open;  // of the folded blocks, the innermost last
  for (std::size_t index = 0; index < lesson.visible.size(); ++index) {
    const std::string& line = lesson.visible[index];
    for (std::size_t i = count_of("<details", line); i > 0; --i) {
      open.push_back(open.empty() ? std::set<std::string>() : open.back());
      if (index > 0) open.back().merge(exercises_of_comment(lesson.text.lines[index - 1]));
    }
    done.push_back(open.empty() ? std::set<std::string>() : open.back());
    for (std::size_t i = count_of("</details>", line); i > 0 && !open.empty(); --i) open.pop_back();
  }
  return done;
}

bool shows(const std::set<std::string>& shown, const AnswerFunction& answer) {
  const auto is_shown = [&](const std::string& line) { return shown.contains(line); };
  const auto count = std::ranges::count_if(answer.lines, is_shown), all = std::ssize(answer.lines);
  return count == all || (count >= kFewestLines && 2 * count >= all);
}

void check_comments(const course::MarkdownFile& lesson, const std::vector<AnswerFunction>& answers,
                    Problems& problems) {
  for (std::size_t index = 0; index < lesson.visible.size(); ++index) {
    if (lesson.visible[index].size() != lesson.text.lines[index].size()) continue;  // of a block
    for (const std::string& id : exercises_of_comment(lesson.text.lines[index])) {
      const bool is_above = index + 1 < lesson.visible.size() && lesson.visible[index + 1].starts_with("<details");
      if (!is_above) problems.push_back(concat(lesson.text.place(index), ": no <details> follows in the next line"));
      if (std::ranges::find(answers, id, &AnswerFunction::exercise) == answers.end())
        problems.push_back(concat(lesson.text.place(index), ": there is no exercise ", id));
    }
  }
}

}  // namespace

LessonAnswers read_answers(const fs::path& root) {
  LessonAnswers answers;
  const std::vector<std::string> files = project_files(root);
  for (const Exercise& exercise : exercise::read_catalogue(root)) append_answers(root, files, exercise, answers);
  return answers;
}

Problems check_lesson_answers(const course::MarkdownFile& lesson, const std::vector<AnswerFunction>& answers) {
  const std::string chapter = fs::path(lesson.text.name).parent_path().filename().string().substr(0, 2);
  const std::vector<std::set<std::string>> done = done_by_line(lesson);
  Problems problems;
  for (const course::FencedBlock& block : lesson.blocks) {
    const bool is_code = is_cpp(block) || course::line_range_in(block.line_above);
    if (!is_code) continue;
    const std::vector<std::string> lines = telling_lines({"", block.lines});
    const std::set<std::string> shown(lines.begin(), lines.end());
    std::set<std::string> allowed = done[block.first_index];
    for (const AnswerFunction& answer : answers) {
      const bool is_allowed = chapter > answer.exercise.substr(0, 2) || allowed.contains(answer.exercise);
      if (is_allowed || !shows(shown, answer)) continue;
      allowed.insert(answer.exercise);  // one problem is enough
      problems.push_back(concat(lesson.text.place(block.first_index), " shows ", answer.name, " of ", answer.path,
                                ", which answers exercise ", answer.exercise, ": fold it, <details> below <!-- after ",
                                answer.exercise, " -->"));
    }
  }
  check_comments(lesson, answers, problems);
  return problems;
}

Problems check_lesson_answers(const fs::path& root) {
  LessonAnswers answers = read_answers(root);
  Problems problems = std::move(answers.problems);
  for (const course::MarkdownFile& lesson : chapter_lessons(root)) {
    const Problems found = check_lesson_answers(lesson, answers.functions);
    problems.insert(problems.end(), found.begin(), found.end());
  }
  return problems;
}

}  // namespace lockstep::checks
