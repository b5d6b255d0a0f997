// Queries from the build and from the script ./lockstep: the targets of a command, and the source of a case's program.
#include <iostream>
#include <sstream>

#include "base/error.hpp"
#include "base/file.hpp"
#include "exercise/detective_case.hpp"
#include "exercise_tool/command.hpp"
#include "exercise_tool/mine_request.hpp"
#include "exercise_tool/predict_lesson.hpp"
#include "exercise_tool/workspace.hpp"

namespace lockstep::exercise {
namespace {

namespace fs = std::filesystem;

// None if the command runs nothing: an answer, or a list.
std::vector<std::string> targets_of_case(const Arguments& arguments) {
  if (arguments.size() > 2 || arguments[1].size() <= 2) return {};
  const std::vector<DetectiveCase> cases = read_cases(open_workspace().root);
  const DetectiveCase& chosen = find_case(cases, arguments[1]);
  std::vector<std::string> names = chosen.programs;
  names.emplace_back("lockstep");
  if (chosen.extension() != ".cu") names.push_back(chosen.program_name());
  return names;
}

// Fails before anything is built if no file of the learner can take part.
std::vector<std::string> targets_of_mine(const Arguments& words) {
  const MineTrainer trainer = parse_mine_request(words).trainer;
  std::ostringstream remarks;  // the command itself makes them, too
  try {
    (void)passed_exercises(open_workspace(), trainer, remarks);
  } catch (const UsageError&) {
    std::cerr << remarks.str();
    throw;
  }
  return {std::string(trainer.program), "lockstep"};
}

}  // namespace

int targets(const Arguments& arguments) {
  std::vector<std::string> names;
  const bool has_one_word = arguments.size() >= 2 && !arguments[1].starts_with("-");
  if (has_one_word && arguments[0] == "case") names = targets_of_case(arguments);
  if (!arguments.empty() && arguments[0] == "run")  // with --mine
    names = targets_of_mine({arguments.begin() + 1, arguments.end()});
  if (has_one_word && arguments[0] == "predict") names = programs_of_questions(open_lesson(arguments[1]));
  for (const std::string& name : names) std::cout << name << "\n";
  return 0;
}

int case_source(const Arguments& arguments) {
  if (arguments.size() != 2) throw UsageError("case-source takes a case and a file");
  const Workspace workspace = open_workspace();
  const std::vector<DetectiveCase> cases = read_cases(workspace.root);
  const std::string source = source_of(workspace.root, find_case(cases, arguments[0]));
  const fs::path path = arguments[1];
  fs::create_directories(path.parent_path());
  // An up-to-date file keeps its modification time, so that nothing is rebuilt.
  if (!fs::exists(path) || read_file(path) != source) write_file(path, source);
  return 0;
}

}  // namespace lockstep::exercise
