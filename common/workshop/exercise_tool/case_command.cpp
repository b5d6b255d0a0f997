// case: cases for detectives. Shows the symptoms and judges the learner's answer.
#include <algorithm>
#include <iostream>
#include <sstream>

#include "base/command_line.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/terminal.hpp"
#include "exercise_tool/case_records.hpp"
#include "exercise_tool/command.hpp"
#include "exercise_tool/loss_log.hpp"
#include "exercise_tool/shell.hpp"
#include "exercise_tool/verdict_view.hpp"
#include "exercise_tool/workspace.hpp"

namespace lockstep::exercise {
namespace {

namespace fs = std::filesystem;

int list(const fs::path& root, const std::vector<DetectiveCase>& cases, const std::string& number) {
  std::string chapter, text, example;
  for (const DetectiveCase& each : cases) {
    if (each.chapter == chapter || (!number.empty() && each.chapter.substr(0, 2) != number)) continue;
    chapter = each.chapter;
    if (example.empty()) example = each.id;
    text += concat("\n", chapter, "\n", case_list(root, cases, chapter));
  }
  if (text.empty()) throw UsageError(concat("chapter ", number, " has no cases  (./lockstep case lists them all)"));
  // The next command comes last: the list is longer than some terminals.
  std::cout << "Each case is a program with one thing wrong in it.\n"
            << text << "\nnext: ./lockstep case " << example << "  (run it, and see what an engineer would see)\n"
            << "then: ./lockstep case " << example << " --answer CAUSE --line N  (say what is wrong)\n";
  return 0;
}

// The losses of the only run in a folder, by step.
std::vector<double> losses_in(const fs::path& folder) {
  std::vector<double> losses;
  std::error_code none;  // the run may have failed before its first step
  for (const auto& run : fs::directory_iterator(folder, none)) {
    for (const LoggedStep& step : read_loss_log(run.path())) losses.push_back(step.loss);
  }
  return losses;
}

void print_losses(const Workspace& workspace, const DetectiveCase& each) {
  const std::vector<double> seen = losses_in(workspace.root / each.losses.at(0));
  const std::vector<double> right = losses_in(workspace.root / each.losses.at(1));
  const auto text_at = [](const std::vector<double>& losses, std::size_t step) {
    return step < losses.size() ? with_digits(losses[step], 6) : "-";
  };
  TextTable table;
  table.add({"step", "this program", "the right one"});
  for (std::size_t step = 0; step < std::max(seen.size(), right.size()); ++step)
    table.add({std::to_string(step + 1), text_at(seen, step), text_at(right, step)});
  std::cout << "\nthe losses of both programs\n" << table.text();
}

// Prints the first `count` pieces. A line that begins with "$ " is a command and is not wrapped.
void print_evidence(const DetectiveCase& each, int count) {
  for (int i = 0; i < count && i < static_cast<int>(each.evidence.size()); ++i) {
    std::istringstream lines("more evidence: " + each.evidence[static_cast<std::size_t>(i)]);
    std::cout << "\n";
    for (std::string line; std::getline(lines, line);)
      std::cout << (line.starts_with("$ ") ? "  " + line + "\n" : wrapped(line, 0));
  }
}

void print_question(const Workspace& workspace, const DetectiveCase& each) {
  std::cout << "\nThe right program is " << each.file
            << "; the line numbers are the same.\nWhich line is wrong or missing there, and why? One of these; "
               "each\nmay be the cause of several cases, or of none:\n";
  for (const Cause& cause : each.causes)
    std::cout << "  " << cause.name << std::string(22 - std::min<std::size_t>(cause.name.size(), 21), ' ') << cause.text
              << "\n";
  const CaseRecord record = read_case_record(workspace.root, each);
  print_evidence(each, record.wrong_answers);
  std::cout << "\nnext: ./lockstep case " << each.id << " --answer CAUSE --line N\n";
}

// Kernels are compiled when they are run; other programs are built with the project.
void make_source(const Workspace& workspace, const DetectiveCase& each) {
  const fs::path folder = workspace.root / "build" / "cases";
  fs::remove_all(folder / each.id);
  fs::create_directories(folder / each.id);
  if (each.extension() == ".cu") write_file(folder / (each.program_name() + ".cu"), source_of(workspace.root, each));
}

int show(const Workspace& workspace, const DetectiveCase& each) {
  std::cout << each.id << " " << each.title << "  (" << each.difficulty << ")\n";
  for (const std::string& paragraph : each.story) std::cout << "\n" << wrapped(paragraph, 0);
  make_source(workspace, each);
  for (const std::string& command : each.commands) {
    std::cout << "\n$ " << command << "\n" << std::flush;
    const std::string with_path = concat("PATH='", (workspace.build / "bin").string(), "':\"$PATH\" && ", command);
    const int status = run({"sh", "-c", with_path}, workspace.root, Collect::kNothing).exit_code;
    if (status == 127) throw UnavailableError("that program is not built: ./lockstep case builds it");
    if (status != 0) std::cout << "(exit status " << status << ")\n";
  }
  if (!each.losses.empty()) print_losses(workspace, each);
  print_question(workspace, each);
  return 0;
}

int judge(const Workspace& workspace, const DetectiveCase& each, const CaseAnswer& answer) {
  if (std::ranges::find(each.causes, answer.cause, &Cause::name) == each.causes.end())
    throw UsageError(concat(answer.cause, " is none of the causes  (./lockstep case ", each.id, " lists them)"));
  if (answer.line == 0) throw UsageError(concat("in which line of ", each.file, "? Add --line N"));
  const Spoiler spoiler = read_spoiler(workspace.root, each);
  const CaseVerdict verdict = judge_answer(spoiler, answer);
  CaseRecord record = read_case_record(workspace.root, each);
  if (verdict == CaseVerdict::kSolved) {
    record.is_solved = true;
    write_case_record(workspace.root, each, record);
    std::cout << each.id << " is solved.\n\n" << spoiler.explanation;
    return 0;
  }
  if (!record.is_solved) ++record.wrong_answers;
  write_case_record(workspace.root, each, record);
  std::cout << (verdict == CaseVerdict::kOtherLine
                    ? concat("The cause fits what was seen. But line ", answer.line, " is not where it is.\n")
                    : concat("That is not it: \"", answer.cause, "\" would look different.\n"));
  print_evidence(each, record.wrong_answers);
  std::cout << "\nnext: look again, then ./lockstep case " << each.id << " --answer CAUSE --line N\n";
  return 1;
}

}  // namespace

int detective_case(const Arguments& arguments) {
  std::string word;
  std::string cause;
  std::int64_t line = 0;
  CommandLine app("Cases for detectives: programs with one thing wrong in each", "lockstep case");
  app.add_option("case", word, "Its id, such as 06.A; a chapter, or nothing, lists them").without_default();
  app.add_option("--answer", cause, "The cause that you believe in").without_default();
  app.add_option("--line", line, "Where it is, in the right program's file").check(whole_number(1)).without_default();
  if (const auto done = app.parse(arguments)) return *done;
  const Workspace workspace = open_workspace();
  const std::vector<DetectiveCase> cases = read_cases(workspace.root);
  const bool is_chapter = word.size() <= 2 && word.find_first_not_of("0123456789") == std::string::npos;
  if (is_chapter) return list(workspace.root, cases, word.size() == 1 ? "0" + word : word);
  const DetectiveCase& chosen = find_case(cases, word);
  if (cause.empty() && line == 0) return show(workspace, chosen);
  if (cause.empty()) throw UsageError(concat("what is wrong in line ", line, "? Add --answer CAUSE"));
  return judge(workspace, chosen, {.cause = cause, .line = static_cast<std::size_t>(line)});
}

}  // namespace lockstep::exercise
