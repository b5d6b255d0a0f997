#pragma once
// The option --hostfile of `lockstep launch`, and what goes with it; not for others.
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

// The only argument of `lockstep launch` on a host that --hostfile names: all else comes by standard input.
inline constexpr const char* kAgentOption = "--as-agent";

// As typed.
struct HostsOptions {
  std::filesystem::path file;  // empty: no --hostfile
  std::string ssh_options;
  std::vector<std::string> variables;  // of --env
};

// Declares --hostfile, --ssh-options and --env.
void add_hosts_options(CommandLine& app, HostsOptions& options);

// What `lockstep launch` has read and what it was given.
struct HostsLaunch {
  HostsOptions hosts;
  NodesOptions nodes;
  bool has_nodes = false;            // --nnodes was given
  std::optional<std::string> ranks;  // of each host: --nproc
  std::string usual_ranks = "auto";  // where neither that nor the file says how many
  double grace_s = 0;
  int preempt_signal = 0;
  Arguments options;  // all of them, as given
  Arguments program;
};

// Runs the job on the hosts of the file. Returns its exit code. Throws UsageError for options that do not fit together,
// FormatError and IoError for the file.
[[nodiscard]] int launch_on_hosts(HostsLaunch launch);

// What an agent that another host's launcher has started has to say.
struct AgentPart {
  std::string name;                // begins its lines
  bool is_first = true;            // speaks for all hosts
  std::function<void()> on_start;  // the command line is understood, and there is such a program
  std::function<void(int port)> on_meeting;
};

// Takes an order from standard input, and runs its command line by `launch`. Returns the exit code.
[[nodiscard]] int run_as_agent(const std::function<int(const Arguments& arguments, const AgentPart& part)>& launch);

// Throws Error where `program`, a path or a name that PATH finds, cannot be run on this host.
void require_program(const std::string& program);

}  // namespace lockstep::tool
