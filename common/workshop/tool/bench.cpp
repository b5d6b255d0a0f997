#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>

#include "base/error.hpp"
#include "base/nearest_match.hpp"
#include "tool/command.hpp"
#include "tool/project.hpp"

namespace lockstep::tool {
namespace {

namespace fs = std::filesystem;

// Name -> command: tests/bench/NAME.py, else the program NAME_bench of the build.
std::map<std::string, std::vector<std::string>> find_benchmarks(const Project& project) {
  // Code shared by several is in *_common.py.
  constexpr std::string_view kProgramEnd = "_bench";
  std::map<std::string, std::vector<std::string>> found;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(project.programs, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(kProgramEnd)) found[name.substr(0, name.size() - kProgramEnd.size())] = {entry.path().string()};
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(project.root / "tests" / "bench", ignored)) {
    const std::string name = entry.path().stem().string();
    if (entry.path().extension() == ".py" && !name.ends_with("_common"))
      found[name] = {"python3", entry.path().string()};
  }
  return found;
}

}  // namespace

int bench(const Arguments& arguments) {
  const Project project = find_project();
  const auto benchmarks = find_benchmarks(project);
  std::vector<std::string> names;
  for (const auto& [name, command] : benchmarks) names.push_back(name);
  const bool wants_help = arguments.empty() || arguments.front() == "--help" || arguments.front() == "-h";
  if (wants_help) {
    std::cout << "Usage: ./lockstep bench NAME [options]\n\nMeasures Lockstep on this machine, beside the other "
                 "libraries that are installed.\n";
    std::cout << (names.empty() ? "No benchmark is built.\n" : "There are:\n");
    for (const std::string& name : names) std::cout << "  ./lockstep bench " << name << "\n";
    return 0;
  }
  const auto chosen = benchmarks.find(arguments.front());
  if (chosen == benchmarks.end()) {
    throw UsageError(concat("no benchmark called ", arguments.front(), did_you_mean(arguments.front(), names),
                            "  (./lockstep bench lists them)"));
  }
  // Presets of a foreign processor would slow the peers' matrix products down.
  unsetenv("OPENBLAS_CORETYPE");
  unsetenv("OPENBLAS_L2_SIZE");
  std::vector<std::string> command = chosen->second;
  command.insert(command.end(), arguments.begin() + 1, arguments.end());
  become(command, {{"LOCKSTEP_ROOT", project.root.string()}, {"LOCKSTEP_BUILD", project.build.string()}});
}

}  // namespace lockstep::tool
