// author: what those who write exercises need. targets: what the script ./lockstep asks before it builds.
#include <iostream>

#include "base/error.hpp"
#include "base/file.hpp"
#include "exercise/detective_case.hpp"
#include "exercise/template.hpp"
#include "exercise_tool/command.hpp"
#include "exercise_tool/predict_lesson.hpp"
#include "exercise_tool/workspace.hpp"

namespace lockstep::exercise {
namespace {

// A file that is right already stays as old as it is, so that nothing is built again.
bool write_if_different(const std::filesystem::path& path, const std::string& text) {
  if (std::filesystem::exists(path) && read_file(path) == text) return false;
  write_file(path, text);
  return true;
}

int write_templates() {
  const Workspace workspace = open_workspace();
  for (const Exercise& exercise : workspace.catalogue) {
    for (const std::string& file : exercise.files) {
      const auto path = exercise.in(workspace.root / "exercises") / file;
      const std::string solution = read_file(exercise.in(workspace.root / "solutions") / file);
      if (write_if_different(path, make_template(solution, exercise)))
        std::cout << "wrote " << workspace.shown(path) << "\n";
    }
  }
  return 0;
}

// The source of a case's program, for the build.
int write_case(const std::string& id, const std::filesystem::path& path) {
  const Workspace workspace = open_workspace();
  const std::vector<DetectiveCase> cases = read_cases(workspace.root);
  std::filesystem::create_directories(path.parent_path());
  write_if_different(path, source_of(workspace.root, find_case(cases, id)));
  return 0;
}

// None where nothing is run: for an answer, or a list.
std::vector<std::string> targets_of_case(const Arguments& arguments) {
  if (arguments.size() > 2 || arguments[1].size() <= 2) return {};
  const std::vector<DetectiveCase> cases = read_cases(open_workspace().root);
  const DetectiveCase& chosen = find_case(cases, arguments[1]);
  std::vector<std::string> names = chosen.programs;
  names.emplace_back("lockstep");
  if (chosen.extension() != ".cu") names.push_back(chosen.program_name());
  return names;
}

}  // namespace

int author(const Arguments& arguments) {
  if (arguments.size() == 3 && arguments[0] == "case") return write_case(arguments[1], arguments[2]);
  if (arguments == Arguments{"templates"}) return write_templates();
  throw UsageError(
      "./lockstep author templates  writes the template of every solution; docs/CONTRIBUTING.md says more");
}

int targets(const Arguments& arguments) {
  std::vector<std::string> names;
  const bool has_one_word = arguments.size() >= 2 && !arguments[1].starts_with("-");
  if (has_one_word && arguments[0] == "case") names = targets_of_case(arguments);
  if (has_one_word && arguments[0] == "predict") names = programs_of_questions(open_lesson(arguments[1]));
  for (const std::string& name : names) std::cout << name << "\n";
  return 0;
}

}  // namespace lockstep::exercise
