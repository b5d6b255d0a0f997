#include <unistd.h>

#include <chrono>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <thread>

#include "base/command_line.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "base/terminal.hpp"
#include "exercise_tool/build_work.hpp"
#include "exercise_tool/command.hpp"
#include "exercise_tool/records.hpp"
#include "exercise_tool/shell.hpp"
#include "exercise_tool/verdict_view.hpp"

namespace lockstep::exercise {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kCompilerLines = 24;

struct Options {
  Arguments words;  // empty, or an exercise
  bool is_full = false;
  std::uint64_t seed = 1;
};

std::string first_lines(const std::string& text, std::size_t most) {
  std::size_t end = 0;
  for (std::size_t line = 0; line < most && end != std::string::npos && end < text.size(); ++line) {
    const std::size_t next = text.find('\n', end);
    end = next == std::string::npos ? text.size() : next + 1;
  }
  return end >= text.size() ? text : text.substr(0, end) + "...\n";
}

std::string header_of(const Workspace& workspace, const Exercise& exercise, const std::string& files,
                      const Options& options) {
  return concat(exercise.id, " ", exercise.title, "  (", workspace.shown(workspace.work(exercise)), ", files ", files,
                ", seed ", options.seed, exercise.has_kernels() ? ", " LOCKSTEP_EXERCISE_DEVICE : "", ")");
}

std::string after_passing(const Workspace& workspace, const Exercise& exercise, bool is_full) {
  if (!is_full)
    return concat("./lockstep next, or first ./lockstep check ", exercise.id, " --full  (",
                  exercise.has_kernels() ? "more sizes" : "slow networks, odd sizes, repeats", ")");
  const Exercise* const next = workspace.next_open();
  if (next == nullptr) return "every exercise is done";
  return concat(workspace.has_solution(exercise) ? concat("./lockstep compare ", exercise.id, ", or ") : "",
                "./lockstep start ", next->id, "  (", next->title, ")");
}

// The line of the first error of compiler or linker; lines that only say where it comes from may precede it.
std::string first_error(const std::string& errors) {
  std::istringstream in(errors);
  std::string first;
  for (std::string line; std::getline(in, line);) {
    if (first.empty()) first = line;
    if (line.find("error: ") != std::string::npos || line.find("undefined reference") != std::string::npos) return line;
  }
  return first;
}

nlohmann::json build_report(const std::string& errors) {
  return {{"checks",
           {{{"name", "compiles and links"},
             {"verdict", "BUILD"},
             {"points", 0},
             {"summary", "the compiler refuses it; its first message counts most:"},
             {"evidence", {first_error(errors)}},
             {"next", "mend the first error, then check again"}}}},
          {"likely", nlohmann::json::array()},
          {"compiler", errors}};
}

// The judge's report on the program made from the learner's files.
nlohmann::json judge_program(const Workspace& workspace, const Exercise& exercise, const Options& options,
                             const fs::path& program) {
  std::vector<std::string> command = {judge_of(workspace, exercise).string(), exercise.id, "--seed",
                                      std::to_string(options.seed)};
  if (options.is_full) command.emplace_back("--full");
  command.insert(command.end(),
                 {"--subject", program.string(), "--source-folder", workspace.shown(workspace.work(exercise)), "--bank",
                  program_of(workspace, exercise, "bank").string()});
  for (const std::string& file : exercise.files)
    command.insert(command.end(), {"--source", (workspace.work(exercise) / file).string()});
  const FinishedProcess finished = run(command, workspace.root, Collect::kOutput);
  try {
    if (finished.exit_code == 0) return parse_json(finished.output);
  } catch (const nlohmann::json::exception&) {  // reported below
  }
  throw Error(concat("SETUP: the judge of ", exercise.id, " failed (exit status ", finished.exit_code,
                     "); that says nothing about your code"));
}

// The report on the learner's files, with their fingerprint: they may be saved again before the judge has finished.
nlohmann::json judge(const Workspace& workspace, const Exercise& exercise, const Options& options) {
  build_given(workspace, exercise);
  std::string files;
  BuiltProgram built;
  do {  // once more if they are saved while the compiler reads them
    files = fingerprint(workspace, exercise);
    built = build_files(workspace, exercise, workspace.work(exercise), "work");
  } while (fingerprint(workspace, exercise) != files);
  nlohmann::json report =
      built.errors.empty() ? judge_program(workspace, exercise, options, built.program) : build_report(built.errors);
  report["files"] = files;
  return report;
}

// A terminal may be narrower than a report.
void print(const nlohmann::json& report, Detail detail) {
  constexpr std::size_t kEvidenceColumn = 10;
  std::cout << wrap_for(STDOUT_FILENO, render(report, detail, wants_colours(STDOUT_FILENO)), kEvidenceColumn)
            << std::flush;
}

int check_once(const Workspace& workspace, const Exercise& exercise, const Options& options) {
  nlohmann::json report = judge(workspace, exercise, options);
  Record record = read_record(workspace, exercise);
  const bool is_passed = has_passed(report);
  const std::string files = report.at("files");
  if (is_passed) record.passed = files;
  report["header"] = header_of(workspace, exercise, files, options);
  report["full"] = options.is_full;
  report["hint_command"] = concat("./lockstep hint ", exercise.id);
  record.last = report;
  write_record(workspace, exercise, record);
  if (is_passed)
    report["after_passing"] = files == fingerprint(workspace, exercise)
                                  ? after_passing(workspace, exercise, options.is_full)
                                  : concat("./lockstep check ", exercise.id, "  (your files have changed meanwhile)");
  if (report.contains("compiler")) std::cout << first_lines(report["compiler"], kCompilerLines);
  print(report, Detail::kBrief);
  return is_passed ? 0 : 1;
}

// Last modification times of the learner's files.
std::map<std::string, fs::file_time_type> times_of(const Workspace& workspace, const Exercise& exercise) {
  std::map<std::string, fs::file_time_type> times;
  for (const std::string& file : exercise.files) {
    std::error_code missing;  // editors remove a file and write it again
    times[file] = fs::last_write_time(workspace.work(exercise) / file, missing);
  }
  return times;
}

// The options of a command line, or the exit code if the program should end (--help).
struct Parsed {
  Options options;
  std::optional<int> exit_code;
};

Parsed parse(const Arguments& arguments, const std::string& name, const std::string& description) {
  Parsed parsed;
  std::string word;
  CommandLine app(description, "lockstep " + name);
  app.add_option("exercise", word, "Its number, such as 02.1; left out: the one whose files changed last")
      .without_default();
  app.add_flag("--full", parsed.options.is_full, "All checks: small buffers, late ranks, repeats, more sizes");
  app.add_option("--seed", parsed.options.seed, "For the inputs that are random").check(whole_number(0));
  parsed.exit_code = app.parse(arguments);
  if (!word.empty()) parsed.options.words = {word};
  return parsed;
}

}  // namespace

int check(const Arguments& arguments) {
  const auto [options, exit_code] =
      parse(arguments, "check", "Compiles your files of an exercise, tries them, and says what is wrong.");
  if (exit_code) return *exit_code;
  const Workspace workspace = open_workspace();
  return check_once(workspace, workspace.chosen(options.words), options);
}

int watch(const Arguments& arguments) {
  const auto [options, exit_code] =
      parse(arguments, "watch", "Checks an exercise whenever its files are saved. Ctrl-C ends it.");
  if (exit_code) return *exit_code;
  const Workspace workspace = open_workspace();
  const Exercise& exercise = workspace.chosen(options.words);
  std::map<std::string, fs::file_time_type> seen;
  while (true) {
    const auto now = times_of(workspace, exercise);
    if (now != seen) {
      seen = now;
      if (::isatty(STDOUT_FILENO) == 1) std::cout << "\033[H\033[2J";
      (void)check_once(workspace, exercise, options);
      std::cout << "\nwatching " << workspace.shown(workspace.work(exercise)) << " (Ctrl-C ends it)\n" << std::flush;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

int why(const Arguments& arguments) {
  const Workspace workspace = open_workspace();
  const Exercise& exercise = workspace.chosen(arguments);
  const nlohmann::json report = read_record(workspace, exercise).last;
  if (report.is_null()) throw UsageError(concat("nothing to explain yet: ./lockstep check ", exercise.id));
  if (report.contains("compiler")) std::cout << report["compiler"].get<std::string>();
  print(report, Detail::kAll);
  return 0;
}

}  // namespace lockstep::exercise
