#include "exercise_tool/build_work.hpp"

#include <cstdlib>
#include <functional>
#include <iostream>
#include <limits>
#include <sstream>
#include <vector>

#include "base/error.hpp"
#include "base/plain_text.hpp"
#include "base/replace.hpp"
#include "exercise_tool/shell.hpp"

namespace lockstep::exercise {
namespace {

namespace fs = std::filesystem;

// CMake's list of the files that a translation read is named after the template's file: if a learner's translation
// wrote it, ninja would take the template for outdated.
std::string without_dependencies(std::string command) {
  const std::size_t tool = command.find(" cmake_transform_depfile ");
  if (tool != std::string::npos) command.erase(command.rfind(" && ", tool));
  return command;
}

// The commands that make a target: those translations, compilations and final links that are `is_needed`.
std::vector<std::string> commands_of(const Workspace& workspace, const std::string& target,
                                     const std::function<bool(const std::string&)>& is_needed) {
  const FinishedProcess listed =
      run({"ninja", "-C", workspace.build.string(), "-t", "commands", target}, workspace.root, Collect::kOutput);
  if (listed.exit_code != 0) throw Error(concat("ninja cannot say how ", target, " is built"));
  std::vector<std::string> commands;
  std::istringstream in(listed.output);
  for (std::string line; std::getline(in, line);)
    if (is_needed(line)) commands.push_back(without_dependencies(line));
  return commands;
}

// Makes every folder that a command writes to.
void make_folders(const Workspace& workspace, const std::string& command, const std::string& part_of_path) {
  std::istringstream words(command);
  for (std::string word; words >> word;) {
    if (word.find(part_of_path) == std::string::npos || word.find('/') == std::string::npos) continue;
    const fs::path folder = (workspace.build / word).parent_path();
    if (folder.string().starts_with(workspace.build.string())) fs::create_directories(folder);
  }
}

// The learner's folder of an exercise as written in a command, in place of the template's.
std::string folder_in_commands(const Workspace& workspace, const fs::path& folder) {
  return workspace.shown(folder) + "/";
}

// The output file of a compile command.
std::string object_of(const std::string& command) {
  std::istringstream words(command);
  for (std::string word; words >> word;)
    if (word == "-o" && words >> word) return word;
  throw Error(concat("no object in: ", command));
}

}  // namespace

std::string as_learner_knows(const Workspace& workspace, const std::string& errors) {
  const std::string relative = workspace.root.lexically_relative(workspace.build).string() + "/";
  const std::string text = plain_text(replaced(replaced(errors, workspace.root.string() + "/", ""), relative, ""),
                                      std::numeric_limits<std::size_t>::max(), LineBreaks::kKeep);
  return text.empty() ? "the compiler failed without a word" : text;
}

fs::path program_of(const Workspace& workspace, const Exercise& exercise, const std::string& variant) {
  return workspace.build / "exercises" / concat("exercise_", exercise.target_name(), "_", variant);
}

fs::path judge_of(const Workspace& workspace, const Exercise& exercise) {
  return workspace.build / "exercises" / concat("judge_", exercise.id.substr(0, 2));
}

void build_given(const Workspace& workspace, const std::string& target) {
  // Announced before a build of several minutes. ninja prints its plan as "[1/120] Building ...".
  const FinishedProcess planned =
      run({"ninja", "-n", "-C", workspace.build.string(), target}, workspace.root, Collect::kOutput);
  const std::size_t first = planned.output.find("\n[1/");
  const std::size_t steps =
      first == std::string::npos ? 0 : std::strtoul(planned.output.c_str() + first + 4, nullptr, 10);
  constexpr std::size_t kManySteps = 10;
  if (steps >= kManySteps) std::cerr << "lockstep: building what is given, " << steps << " steps; this time only\n";
  std::vector<std::string> command = ninja_in(workspace.build);
  command.push_back(target);
  const FinishedProcess built = run(command, workspace.root, Collect::kBoth);
  if (built.exit_code != 0)
    throw Error(concat("what is given (", target, ") does not build; this is not your code:\n", built.output));
}

void build_given(const Workspace& workspace, const Exercise& exercise) {
  build_given(workspace, concat("exercise_", exercise.target_name()));
}

std::vector<std::string> build_commands(const Workspace& workspace, const Exercise& exercise, const fs::path& folder,
                                        const std::string& name) {
  const std::string target = concat("exercise_", exercise.target_name(), "_template");
  const std::string own = concat("exercise_", exercise.target_name(), "_", name);
  const std::string given = folder_in_commands(workspace, exercise.in(workspace.root / "exercises"));
  const std::string files = folder_in_commands(workspace, folder);
  const auto names_target = [&](const std::string& line) { return line.find(target) != std::string::npos; };
  std::vector<std::string> commands = commands_of(workspace, target, names_target);
  for (std::string& command : commands) command = replaced(replaced(command, given, files), target, own);
  return commands;
}

BuiltProgram build_files(const Workspace& workspace, const Exercise& exercise, const fs::path& folder,
                         const std::string& name) {
  const std::string own = concat("exercise_", exercise.target_name(), "_", name);
  for (const std::string& command : build_commands(workspace, exercise, folder, name)) {
    make_folders(workspace, command, own);
    const FinishedProcess done = run({"sh", "-c", command}, workspace.build, Collect::kBoth);
    if (done.exit_code != 0) return {.program = {}, .errors = as_learner_knows(workspace, done.output)};
  }
  return {.program = program_of(workspace, exercise, name), .errors = ""};
}

Relinked with_learners_source(const std::string& compile, const std::string& link, const std::string& given,
                              const std::string& files) {
  const std::string object = object_of(compile);
  const std::string own_object = replaced(object, ".dir/", ".dir/work/");
  // A program without the template has a source of the library instead: the learner's object comes first.
  const std::string relinked = link.find(object) != std::string::npos
                                   ? replaced(link, object, own_object)
                                   : replaced(link, " -o exercises/", concat(" ", own_object, " -o exercises/"));
  return {.compile = replaced(replaced(compile, object, own_object), given, files), .link = relinked};
}

BuiltProgram build_with_learners_files(const Workspace& workspace, const std::string& program,
                                       const std::vector<const Exercise*>& exercises) {
  const std::string own = program + "_work";
  std::string link;
  const auto is_last = [&](const std::string& line) {
    return line.find("-o exercises/" + program) != std::string::npos;
  };
  for (const std::string& line : commands_of(workspace, program, is_last)) link = line;
  link = replaced(link, "-o exercises/" + program, "-o exercises/" + own);
  for (const Exercise* const exercise : exercises) {
    const std::string given = folder_in_commands(workspace, exercise->in(workspace.root / "exercises"));
    const std::string files = folder_in_commands(workspace, workspace.work(*exercise));
    const auto compilations_for = [&](const std::string& target) {
      return commands_of(workspace, target, [&](const std::string& line) {
        return line.find(given) != std::string::npos && line.find(" -c ") != std::string::npos &&
               line.find(target + ".dir") != std::string::npos;
      });
    };
    std::vector<std::string> compilations = compilations_for(program);
    if (compilations.empty())
      compilations = compilations_for(concat("exercise_", exercise->target_name(), "_template"));
    for (const std::string& original : compilations) {
      const Relinked with_own = with_learners_source(original, link, given, files);
      make_folders(workspace, with_own.compile, ".dir/work/");
      const FinishedProcess done = run({"sh", "-c", with_own.compile}, workspace.build, Collect::kBoth);
      if (done.exit_code != 0) return {.program = {}, .errors = as_learner_knows(workspace, done.output)};
      link = with_own.link;
    }
  }
  const FinishedProcess linked = run({"sh", "-c", link}, workspace.build, Collect::kBoth);
  if (linked.exit_code != 0) return {.program = {}, .errors = as_learner_knows(workspace, linked.output)};
  return {.program = workspace.build / "exercises" / own, .errors = ""};
}

}  // namespace lockstep::exercise
