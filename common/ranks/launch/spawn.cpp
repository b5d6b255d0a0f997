#include "launch/spawn.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/joining/job_environment.hpp"
#include "launch/launcher.hpp"

namespace lockstep::launch {
namespace {

// The command line of this process, with the program replaced by the running file.
std::vector<std::string> own_command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> command;
  for (std::string argument; std::getline(file, argument, '\0');) command.push_back(argument);
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (command.empty() || error)
    throw IoError("cannot read this program's own command line from /proc/self: mount -t proc proc /proc");
  command.front() = program.string();
  return command;
}

}  // namespace

bool is_rank() { return comm::is_started_as_rank(); }

int spawn(const std::function<int()>& function, int world_size) {
  if (is_rank()) return function();
  require(world_size >= 1, "spawn: world_size is ", world_size, ", must be at least 1");
  JobOptions options;
  options.command = own_command();
  options.world_size = world_size;
  options.name = std::filesystem::path(options.command.front()).filename().string();
  return run_job(options).exit_code;
}

}  // namespace lockstep::launch
