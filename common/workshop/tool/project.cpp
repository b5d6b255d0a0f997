#include "tool/project.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/command_line.hpp"
#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/nearest_match.hpp"
#include "base/process.hpp"
#include "base/replace.hpp"
#include "launch/cores.hpp"

namespace lockstep::tool {
namespace {

namespace fs = std::filesystem;

constexpr int kMostRanks = 1024;

std::vector<std::string> program_names(const Project& project) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(project.programs, ignored)) {
    if (entry.is_regular_file() && access(entry.path().c_str(), X_OK) == 0) {
      names.push_back(entry.path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

Project likely_project() {
  Project project;
  project.programs = program_folder();
  project.build = project.programs.parent_path();
  project.root = environment::get("LOCKSTEP_ROOT").value_or(project.build.parent_path().parent_path().string());
  return project;
}

bool is_complete(const Project& project) {
  std::error_code ignored;
  return fs::exists(project.root / "CMakePresets.json", ignored);
}

}  // namespace

fs::path program_folder() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path();
}

Project find_project() {
  const Project project = likely_project();
  if (!is_complete(project))
    throw UsageError(concat(project.root.string(), " is not the project's folder; set LOCKSTEP_ROOT to it"));
  return project;
}

bool has_project() { return is_complete(likely_project()); }

std::string tool_as_typed() { return has_project() ? "./lockstep" : "lockstep"; }

std::string as_typed(const std::string& text) { return replaced(text, "./lockstep", tool_as_typed()); }

fs::path find_program(const Project& project, const std::string& name) {
  const fs::path path = project.programs / name;
  if (fs::is_regular_file(path)) return path;
  throw UsageError(concat("there is no program ", name, " in ", project.programs.string(),
                          did_you_mean(name, program_names(project)), " (built by ./lockstep or cmake --build)"));
}

void become(const std::vector<std::string>& command, const ProgramVariables& variables) {
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  become_program(command);
}

int run_and_wait(const std::vector<std::string>& command, const ProgramVariables& variables) {
  std::vector<std::string> lines;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string line = *variable;
    if (!variables.contains(line.substr(0, line.find('=')))) lines.push_back(line);
  }
  for (const auto& [name, value] : variables) lines.push_back(name + "=" + value);
  return wait_for_process(start_process({.command = command, .environment = lines}));
}

int parse_rank_count(const std::string& text, const std::string& option) {
  if (text == "auto") return suitable_rank_count();
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count < 1 || count > kMostRanks) {
    throw UsageError(concat(option, " is ", text.empty() ? "empty" : text, "; it must be a number of ranks from 1 to ",
                            kMostRanks, ", or auto"));
  }
  return count;
}

int suitable_rank_count() { return launch::usable_cores().physical >= 4 ? 4 : 2; }

}  // namespace lockstep::tool
