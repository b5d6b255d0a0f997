#pragma once
// The options of `lockstep launch` for jobs on several hosts, named as in torchrun. Internal to this module.
#include <optional>
#include <string>

#include "base/command_line.hpp"
#include "launch/hosts/agent.hpp"

namespace lockstep::tool {

struct NodesOptions {
  std::string nodes = "1";
  int node_rank = -1;
  std::string backend = "c10d";
  std::optional<std::string> endpoint;
  std::string id = "none";
  std::string configuration;
  std::optional<std::string> master_host;
  int master_port = 29500;  // torchrun's
  std::string role = "default";
  int max_restarts = 0;
  double backoff_s = 1;
  double monitor_interval_s = 0;
  bool may_choose_port = false;  // not an option: allows port 0, as the actual port is reported
};

void add_nodes_options(CommandLine& app, NodesOptions& options);

// The combined meaning of the options. Nothing for a job on one host without restarts. Throws UsageError for options
// that contradict each other or have no effect.
[[nodiscard]] std::optional<launch::AgentOptions> agent_options(const NodesOptions& options, bool is_standalone);

}  // namespace lockstep::tool
