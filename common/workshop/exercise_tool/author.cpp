// author: commands for authors of exercises.
#include <algorithm>
#include <array>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <regex>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "emulator/translate/tokens.hpp"
#include "exercise/gates.hpp"
#include "exercise/template.hpp"
#include "exercise_tool/build_work.hpp"
#include "exercise_tool/command.hpp"
#include "exercise_tool/shell.hpp"
#include "exercise_tool/skeleton.hpp"
#include "exercise_tool/workspace.hpp"

namespace lockstep::exercise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUsage =
    "./lockstep author new 02 name \"Title\"    a new exercise of yours that works, to be changed: 02.50\n"
    "./lockstep author check 02.50            everything that must hold of an exercise\n"
    "./lockstep author weights 02.50          what each check counts when a class is graded\n"
    "./lockstep author adopt 02.50 FILE NAME  a wrong submission into the bank of mistakes\n"
    "./lockstep author templates              the template of every solution\n"
    "docs/instructor.md, \"An exercise of your own\", says more, and for the course's own exercises "
    "docs/CONTRIBUTING.md";

void write_new(const Workspace& workspace, const std::string& path, const std::string& text) {
  const fs::path file = workspace.root / path;
  if (fs::exists(file)) throw UsageError(concat(path, " exists already"));
  fs::create_directories(file.parent_path());
  write_file(file, text);
  std::cout << "wrote " << path << "\n";
}

int write_templates(const Workspace& workspace) {
  for (const Exercise& exercise : workspace.catalogue) {
    for (const std::string& file : exercise.files) {
      const fs::path path = exercise.in(workspace.root / "exercises") / file;
      const std::string text = make_template(read_file(exercise.in(workspace.root / "solutions") / file), exercise);
      if (fs::exists(path) && read_file(path) == text) continue;
      write_file(path, text);
      std::cout << "wrote " << workspace.shown(path) << "\n";
    }
  }
  return 0;
}

fs::path chapter_folder(const Workspace& workspace, const std::string& number) {
  for (const fs::directory_entry& entry : fs::directory_iterator(workspace.root / "chapters"))
    if (entry.path().filename().string().starts_with(number + "_")) return entry.path();
  throw UsageError(concat("there is no chapter ", number));
}

// The first free number of a chapter that is left to lecturers.
std::string free_number(const Workspace& workspace, const std::string& chapter) {
  for (int number = kFirstOfLecturers; number < 100; ++number) {
    std::string id = concat(chapter, ".", number);
    if (std::ranges::find(workspace.catalogue, id, &Exercise::id) == workspace.catalogue.end()) return id;
  }
  throw UsageError(concat("chapter ", chapter, " has no free number from ", kFirstOfLecturers, " to 99"));
}

// @param word  "02.50"; or "02", for the first free number from 50 on.
int begin_new(const Workspace& workspace, const std::string& word, const std::string& name, const std::string& title) {
  const bool is_chapter = std::regex_match(word, std::regex(R"(\d\d)"));
  const std::string id = is_chapter ? free_number(workspace, word) : word;
  if (!std::regex_match(id, std::regex(R"(\d\d\.[1-9]\d?)")))
    throw UsageError(concat(id, " is not the number of an exercise: two digits, a dot, a number, such as 02.50"));
  if (!std::regex_match(name, std::regex(R"([a-z][a-z0-9]*(_[a-z0-9]+)*)")))
    throw UsageError(concat(name, " is not a name: lower-case words joined by _, such as reduce_scatter"));
  if (title.empty() || title.find_first_of("\"\\\n\t") != std::string::npos)
    throw UsageError(concat("a title is one line without quotation marks and backslashes, not ", title));
  for (const Exercise& other : workspace.catalogue)
    if (other.id == id) throw UsageError(concat(id, " exists already: ", other.title));
  Exercise exercise;
  exercise.id = id;
  exercise.chapter = chapter_folder(workspace, id.substr(0, 2)).filename();
  exercise.name = concat(id.substr(3), "_", name);
  exercise.title = title;
  for (const auto& [path, text] : skeleton_of(workspace.root, exercise)) write_new(workspace, path, text);
  if (!exercise.is_lecturers())
    std::cout << "note: numbers below " << kFirstOfLecturers
              << " are the course's, and a later release may have its own " << id << "; for an exercise of yours take "
              << free_number(workspace, id.substr(0, 2)) << "\n";
  std::cout << "next: ./lockstep author check " << id
            << "  (it passes as it is; then change all files to what you want to ask)\n";
  return 0;
}

int check_one(const Workspace& workspace, const Exercise& exercise) {
  build_given(workspace, exercise);
  build_given(workspace, concat("exercise_", exercise.target_name(), "_solution"));
  const auto run_judge = [&](const std::vector<std::string>& command) {
    const FinishedProcess finished = run(command, workspace.root, Collect::kOutput);
    if (finished.exit_code != 0) throw Error("the judge failed; its output is above");
    return finished.output;
  };
  const Gates gates = {.root = workspace.root, .programs = workspace.build / "exercises", .run = run_judge};
  if (gates.has_alternatives(exercise))
    build_given(workspace, concat("exercise_", exercise.target_name(), "_alternatives"));
  struct Gate {
    const char* what;
    std::string (Gates::*faults_of)(const Exercise&) const;
  };
  constexpr std::array kAll = {
      Gate{"files and template agree; three hints", &Gates::faults_of_files},
      Gate{"the template fails as it is meant to", &Gates::faults_of_template},
      Gate{"the solution passes all checks", &Gates::faults_of_solution},
      Gate{"every mistake fails and is named alone", &Gates::faults_of_bank},
      Gate{"every unusual right answer passes all checks", &Gates::faults_of_alternatives},
  };
  bool is_sound = true;
  for (const Gate& gate : kAll) {
    const std::string faults = (gates.*gate.faults_of)(exercise);
    is_sound = is_sound && faults.empty();
    std::cout << "  " << (faults.empty() ? "holds " : "FAILS ") << " " << gate.what << "\n" << faults << std::flush;
  }
  std::cout << (is_sound ? "all of it holds" : "not all of it holds") << "\n";
  return is_sound ? 0 : 1;
}

int print_weights(const Workspace& workspace, const Exercise& exercise) {
  build_given(workspace, exercise);
  build_given(workspace, concat("exercise_", exercise.target_name(), "_solution"));
  const FinishedProcess judged = run({judge_of(workspace, exercise).string(), exercise.id, "--full", "--subject",
                                      program_of(workspace, exercise, "solution").string()},
                                     workspace.root, Collect::kOutput);
  if (judged.exit_code != 0) throw Error("the judge failed; what it said is above");
  const nlohmann::json report = parse_json(judged.output);
  for (const nlohmann::json& check : report.at("checks")) {
    const std::string name = check.at("name");
    const auto given = exercise.weights.find(name);
    const double weight = given != exercise.weights.end() ? given->second : check.at("points").get<double>();
    std::cout << "  " << std::setw(5) << weight << "  " << name << "\n";
  }
  std::cout << "the exercise has " << exercise.points << " points; exercises/" << exercise.chapter << "/"
            << exercise.name << "/exercise.json changes weights: \"weights\": {\"name of a check\": 8}\n";
  return 0;
}

// Without comments, which may contain a name. Between two tokens, only the last line break and the indentation remain.
std::string anonymous(const std::string& code) {
  std::string text;
  std::size_t end = 0;
  const auto keep_between = [&](std::size_t next) {
    const std::string between = code.substr(end, next - end);
    const std::size_t line_break = between.rfind('\n');
    if (between.find('/') == std::string::npos)
      text += between;
    else
      text += line_break == std::string::npos ? " " : between.substr(line_break);
  };
  for (const translate::Token& token : translate::split_tokens(code)) {
    keep_between(token.begin);
    text += token.text;
    end = token.end();
  }
  keep_between(code.size());
  return text;
}

int adopt(const Workspace& workspace, const Exercise& exercise, const fs::path& file, const std::string& name) {
  if (!std::regex_match(name, std::regex(R"([a-z][a-z0-9]*(_[a-z0-9]+)*)")))
    throw UsageError(concat(name, " is not the name of a mistake: lower-case words joined by _"));
  const std::string path = concat("tests/exercises/", exercise.chapter, "/", exercise.name, "/adopted/", name, ".inc");
  write_new(workspace, path,
            concat("// Handed in by a student, without comments: a mistake that the bank did not have.\n",
                   anonymous(read_file(file))));
  std::cout << "next, in mistakes.cpp of " << exercise.id << ":\n"
            << "  1. an entry {\"" << name << "\", \"what it does\", \"the one thing to try\"}\n"
            << "  2. #include \"adopted/" << name << ".inc\" with its function renamed: #define FUNCTION FUNCTION_"
            << name << " before it, #undef FUNCTION after it\n"
            << "  3. in FUNCTION: if (is_mistake(\"" << name << "\")) return FUNCTION_" << name << "(its arguments);\n"
            << "then: ./lockstep author check " << exercise.id << "\n";
  return 0;
}

}  // namespace

int author(const Arguments& arguments) {
  const Workspace workspace = open_workspace();
  const std::string word = arguments.empty() ? "" : arguments.front();
  if ((word == "check" || word == "weights") && !fs::exists(workspace.root / "solutions"))
    throw UnavailableError("this copy of the course has no solutions; exercises are written in the whole course");
  if (word == "templates" && arguments.size() == 1) return write_templates(workspace);
  if (word == "new" && arguments.size() == 4) return begin_new(workspace, arguments[1], arguments[2], arguments[3]);
  if (word == "check" && arguments.size() == 2)
    return check_one(workspace, find_exercise(workspace.catalogue, arguments[1]));
  if (word == "weights" && arguments.size() == 2)
    return print_weights(workspace, find_exercise(workspace.catalogue, arguments[1]));
  if (word == "adopt" && arguments.size() == 4)
    return adopt(workspace, find_exercise(workspace.catalogue, arguments[1]), arguments[2], arguments[3]);
  throw UsageError(kUsage);
}

}  // namespace lockstep::exercise
