#pragma once
/// @file
/// Runs a host's part of a job of several hosts: joins the others and runs its ranks generation after generation.
#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "launch/launcher.hpp"
#include "net/address.hpp"

namespace lockstep::launch {

/// One host's settings of a job. Except for `job` and `node_rank`, they must be the same on all hosts.
struct AgentOptions {
  JobOptions job;                ///< Program and number of this host's ranks; may differ between hosts.
  std::string id = "none";       ///< The job's name: jobs with different names never meet.
  std::string role = "default";  ///< For ROLE_NAME.
  int min_nodes = 1;             ///< Minimum number of hosts for a generation.
  int max_nodes = 1;             ///< Further hosts wait as spares. If greater than min_nodes, the job is elastic.
  int node_rank = -1;            ///< Of this host; -1: by order of arrival. 0 serves the meeting.
  int max_restarts = 0;          ///< Of failures, not of exit code 2 (wrong use); hosts that come and go do not count.
  net::SocketAddress endpoint{"127.0.0.1", 0};  ///< Of the meeting; port 0 for a job of one host.
  std::optional<bool> is_host;             ///< Whether `endpoint` is this host's; empty: determined if node_rank is -1.
  std::chrono::milliseconds join{60'000};  ///< HubOptions::join
  std::chrono::milliseconds last_call{30'000};  ///< HubOptions::last_call
  std::chrono::milliseconds liveness{15'000};   ///< HubOptions::liveness
  std::chrono::milliseconds backoff{1'000};     ///< HubOptions::backoff
  /// Called with the address of the meeting once it is open; `endpoint` may then have port 0. May be empty.
  std::function<void(const net::SocketAddress&)> on_meeting = {};
  /// A launcher of all hosts has started this agent, and it does not report for the job: it does not print how the job
  /// ended. SIGHUP then means that the launcher has gone, which counts as loss of this host, not as a request to end
  /// the job.
  bool is_led = false;
};

/// Runs this host's part of all generations of a job. Reports events on all hosts to standard error, and at the end
/// which failure came first.
///
/// The ranks get the variables that run_job() describes, and those that torchrun sets: GROUP_RANK, GROUP_WORLD_SIZE,
/// ROLE_NAME, ROLE_RANK, ROLE_WORLD_SIZE, TORCHELASTIC_RESTART_COUNT, TORCHELASTIC_MAX_RESTARTS, TORCHELASTIC_RUN_ID.
/// LOCKSTEP_GENERATION is the generation's number.
///
/// The hosts prove LOCKSTEP_TOKEN (or LOCKSTEP_TOKEN_FILE) to each other. The ranks instead get a token for this run of
/// the job, and their store only admits ranks of its generation.
///
/// A signal that ends a job on any host ends it on all; but in an elastic job, SIGTERM to a host other than the hub's
/// only removes that host. A host that loses the hub ends its ranks and, if there are restarts or the job is elastic,
/// joins again.
///
/// @return  The job's exit code, as JobResult::exit_code, over all hosts; 1 if a host was lost or never joined.
/// @throws Error  The token is missing or wrong, or the hub rejects this host; says why.
/// @throws IoError, ContractError, FormatError  As run_job(); or the endpoint is not this host's, or taken.
[[nodiscard]] int run_agent(const AgentOptions& options);

}  // namespace lockstep::launch
