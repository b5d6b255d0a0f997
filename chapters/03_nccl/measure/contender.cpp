#include "03_nccl/measure/contender.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/environment.hpp"
#include "base/error.hpp"

namespace lockstep::bandwidth {
namespace {

// The first executable file of that name in PATH; empty if there is none.
std::string find_in_path(const std::string& program) {
  std::string folders = environment::get("PATH").value_or("");
  while (!folders.empty()) {
    const std::size_t end = folders.find(':');
    const std::filesystem::path file = std::filesystem::path(folders.substr(0, end)) / program;
    if (::access(file.c_str(), X_OK) == 0) return file.string();
    folders = end == std::string::npos ? "" : folders.substr(end + 1);  // past the colon
  }
  return "";
}

}  // namespace

const std::vector<std::string>& contender_names() {
  static const std::vector<std::string> names{"star", "ring", "shared_memory", "gloo", "mpi", "nccl"};
  return names;
}

bool is_timed(const std::string& name) { return name != "nccl" || accelerator_type() != DeviceType::kEmulated; }

bool needs_mpirun(const std::string& name) { return name == "mpi"; }

std::string why_not(const std::string& name, const backend::BackendOptions& options) {
  const auto& known = backend::all_backends();
  const auto found = std::ranges::find(known, name, &backend::BackendInfo::name);
  if (found == known.end()) return "this version has no such backend";
  if (!found->is_built) return concat("not in this build: ", found->how_to);
  if (needs_mpirun(name) && mpirun_command(1).empty()) {
    return "Open MPI's mpirun is not in PATH: apt-get install openmpi-bin";
  }
  if (name != "nccl") return "";
  try {
    const Device device = options.device.is_cpu() ? Device{accelerator_type(), 0} : options.device;
    device.require_available();
  } catch (const UnavailableError& error) {
    return error.what();
  }
  return "";
}

std::vector<std::string> mpirun_command(int world_size) {
  // Open MPI's own name first: mpirun may belong to another MPI, with other options.
  std::string program = find_in_path("mpirun.openmpi");
  if (program.empty()) program = find_in_path("mpirun");
  if (program.empty()) return {};
  std::vector<std::string> command{program, "--oversubscribe", "--bind-to", "none", "-n", std::to_string(world_size)};
  if (::geteuid() == 0) command.insert(command.begin() + 1, "--allow-run-as-root");
  return command;
}

}  // namespace lockstep::bandwidth
