#include "exercise_tool/shell.hpp"

#include <unistd.h>

#include "base/environment.hpp"

namespace lockstep::exercise {

FinishedProcess run(const std::vector<std::string>& command, const std::filesystem::path& folder, Collect collect) {
  return run_process({.command = command, .folder = folder, .empty_streams = {STDIN_FILENO}}, collect);
}

std::vector<std::string> ninja_in(const std::filesystem::path& build) {
  std::vector<std::string> command = {"ninja", "-C", build.string()};
  constexpr int kMostJobs = 100'000;
  if (const auto jobs = environment::get_int("LOCKSTEP_JOBS", 1, kMostJobs))
    command.insert(command.end(), {"-j", std::to_string(*jobs)});
  return command;
}

}  // namespace lockstep::exercise
