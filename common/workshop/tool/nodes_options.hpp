#pragma once
// The options of `lockstep launch` for jobs of several hosts, by torchrun's names; for that command only.
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
  bool may_choose_port = false;  // no option: where the hosts meet, port 0 will do, because somebody is told the port
};

void add_nodes_options(CommandLine& app, NodesOptions& options);

// What the options mean together. Nothing where the job is one host's, and nothing starts it again.
// Throws UsageError for what contradicts itself or means nothing here.
[[nodiscard]] std::optional<launch::AgentOptions> agent_options(const NodesOptions& options, bool is_standalone);

}  // namespace lockstep::tool
