#pragma once
// The option --hostfile of `lockstep launch`, and its companions. Internal to this module.
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tool/command.hpp"
#include "tool/nodes_options.hpp"

namespace lockstep {
class CommandLine;
}

namespace lockstep::tool {

// The only argument of `lockstep launch` on a host from --hostfile: everything else arrives on standard input.
inline constexpr const char* kAgentOption = "--as-agent";

// As typed.
struct HostsOptions {
  std::filesystem::path file;  // empty: no --hostfile
  std::string ssh_options;
  std::vector<std::string> variables;  // from --env
};

// Declares --hostfile, --ssh-options and --env.
void add_hosts_options(CommandLine& app, HostsOptions& options);

// Parsed options of `lockstep launch`, and the original ones.
struct HostsLaunch {
  HostsOptions hosts;
  NodesOptions nodes;
  bool has_nodes = false;            // --nnodes was given
  std::optional<std::string> ranks;  // per host: --nproc
  std::string usual_ranks = "auto";  // if neither --nproc nor the file gives a number
  double grace_s = 0;
  int preempt_signal = 0;
  Arguments options;  // all of them, as given
  Arguments program;
};

// Runs the job on the hosts of the file. Returns its exit code. Throws UsageError for incompatible options, FormatError
// and IoError for the file.
[[nodiscard]] int launch_on_hosts(HostsLaunch launch);

// The reporting side of an agent that another host's launcher started.
struct AgentPart {
  std::string name;                // prefix of its lines
  bool is_first = true;            // reports for all hosts
  std::function<void()> on_start;  // call when the command line is parsed and the program exists
  std::function<void(int port)> on_meeting;
};

// Reads an order from standard input and runs its command line by `launch`. Returns the exit code.
[[nodiscard]] int run_as_agent(const std::function<int(const Arguments& arguments, const AgentPart& part)>& launch);

// Throws Error if `program`, a path or a name on PATH, cannot be run on this host.
void require_program(const std::string& program);

}  // namespace lockstep::tool
