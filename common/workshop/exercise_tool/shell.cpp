#include "exercise_tool/shell.hpp"

#include <unistd.h>

namespace lockstep::exercise {

FinishedProcess run(const std::vector<std::string>& command, const std::filesystem::path& folder, Collect collect) {
  return run_process({.command = command, .folder = folder, .empty_streams = {STDIN_FILENO}}, collect);
}

}  // namespace lockstep::exercise
