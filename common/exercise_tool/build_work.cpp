#include "exercise_tool/build_work.hpp"

#include <sstream>
#include <vector>

#include "base/error.hpp"
#include "exercise_tool/shell.hpp"

namespace lockstep::exercise {
namespace {

namespace fs = std::filesystem;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

// The commands that make the solution's program from its own files: translations, compilations, and the link at the
// end.
std::vector<std::string> commands_of_solution(const Workspace& workspace, const std::string& target) {
  const Finished listed =
      run({"ninja", "-C", workspace.build.string(), "-t", "commands", target}, workspace.root, Collect::kOutput);
  if (listed.exit_code != 0) throw Error("ninja cannot say how the solution is built");
  std::vector<std::string> commands;
  std::istringstream in(listed.output);
  for (std::string line; std::getline(in, line);)
    if (line.find(target) != std::string::npos) commands.push_back(line);
  return commands;
}

// Every folder into which a command writes.
void make_folders(const Workspace& workspace, const std::string& command, const std::string& target) {
  std::istringstream words(command);
  for (std::string word; words >> word;) {
    if (word.find(target) == std::string::npos || word.find('/') == std::string::npos) continue;
    const fs::path folder = (workspace.build / word).parent_path();
    if (folder.string().starts_with(workspace.build.string())) fs::create_directories(folder);
  }
}

}  // namespace

fs::path program_of(const Workspace& workspace, const Exercise& exercise, const std::string& variant) {
  return workspace.build / "exercises" / concat("exercise_", exercise.target_name(), "_", variant);
}

fs::path judge_of(const Workspace& workspace, const Exercise& exercise) {
  return workspace.build / "exercises" / concat("judge_", exercise.id.substr(0, 2));
}

void build_given(const Workspace& workspace, const Exercise& exercise) {
  const std::string target = concat("exercise_", exercise.target_name());
  const Finished built = run({"ninja", "-C", workspace.build.string(), target}, workspace.root, Collect::kBoth);
  if (built.exit_code != 0)
    throw Error(concat("what is given for ", exercise.id, " does not build; this is not your code:\n", built.output));
}

std::vector<std::string> build_commands(const Workspace& workspace, const Exercise& exercise, const fs::path& folder,
                                        const std::string& name) {
  const std::string target = concat("exercise_", exercise.target_name(), "_solution");
  const std::string own = concat("exercise_", exercise.target_name(), "_", name);
  const std::string solution = workspace.shown(exercise.in(workspace.root / "solutions")) + "/";
  const std::string files = folder.lexically_relative(workspace.root).string() + "/";
  std::vector<std::string> commands = commands_of_solution(workspace, target);
  for (std::string& command : commands) command = replaced(replaced(command, solution, files), target, own);
  return commands;
}

std::string as_learner_knows(const Workspace& workspace, const std::string& errors) {
  const std::string relative = fs::path(workspace.root).lexically_relative(workspace.build).string() + "/";
  return replaced(replaced(errors, workspace.root.string() + "/", ""), relative, "");
}

BuiltProgram build_files(const Workspace& workspace, const Exercise& exercise, const fs::path& folder,
                         const std::string& name) {
  const std::string own = concat("exercise_", exercise.target_name(), "_", name);
  for (const std::string& command : build_commands(workspace, exercise, folder, name)) {
    make_folders(workspace, command, own);
    const Finished done = run({"sh", "-c", command}, workspace.build, Collect::kBoth);
    if (done.exit_code == 0) continue;
    const std::string errors = as_learner_knows(workspace, done.output);
    return {.program = {}, .errors = errors.empty() ? "the compiler failed without a word" : errors};
  }
  return {.program = program_of(workspace, exercise, name), .errors = ""};
}

}  // namespace lockstep::exercise
