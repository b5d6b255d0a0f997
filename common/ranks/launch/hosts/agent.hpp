#pragma once
/// @file
/// A host's part in a job of several hosts: joins the others, runs its ranks generation after generation.
#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "launch/launcher.hpp"
#include "net/address.hpp"

namespace lockstep::launch {

/// One host's view of a job. Except for `job` and `node_rank`, all hosts must say the same.
struct AgentOptions {
  JobOptions job;                ///< What this host's ranks run, and how many; may differ from host to host.
  std::string id = "none";       ///< The job's name: jobs of different names never meet.
  std::string role = "default";  ///< For ROLE_NAME.
  int min_nodes = 1;             ///< Hosts without which no generation starts.
  int max_nodes = 1;             ///< More of them wait as spares. Greater than min_nodes: the job is elastic.
  int node_rank = -1;            ///< Of this host; -1: in the order of arrival. 0 serves the meeting.
  int max_restarts = 0;          ///< How many failures are followed by a restart; hosts that come and go do not count.
  net::SocketAddress endpoint{"127.0.0.1", 0};  ///< Where the hosts meet; port 0 for a job of one host.
  std::optional<bool> is_host;  ///< Whether `endpoint` is this host's; empty: found out where node_rank is -1.
  std::chrono::milliseconds join{60'000};       ///< HubOptions::join
  std::chrono::milliseconds last_call{30'000};  ///< HubOptions::last_call
  std::chrono::milliseconds liveness{15'000};   ///< HubOptions::liveness
  std::chrono::milliseconds backoff{1'000};     ///< HubOptions::backoff
  /// Hears where the hosts meet, once they can; then `endpoint` may have port 0. Empty: nobody wants to know.
  std::function<void(const net::SocketAddress&)> on_meeting = {};
  /// A launcher of all hosts has started this agent, as one of those that do not speak for the job: it does not say how
  /// the job ended, and SIGHUP means that the launcher has gone. That is this host's loss, not the wish to end the job.
  bool is_led = false;
};

/// Runs this host's part of a job to its end, of all generations. Says on standard error what happens on all hosts, and
/// at the end which failure came first.
///
/// The ranks find what run_job() says, and beside that what torchrun sets: GROUP_RANK, GROUP_WORLD_SIZE, ROLE_NAME,
/// ROLE_RANK, ROLE_WORLD_SIZE, TORCHELASTIC_RESTART_COUNT, TORCHELASTIC_MAX_RESTARTS, TORCHELASTIC_RUN_ID.
/// LOCKSTEP_GENERATION is the generation's number.
///
/// The hosts prove LOCKSTEP_TOKEN (or LOCKSTEP_TOKEN_FILE) to each other. The ranks get a token of this run of the job
/// instead, and their store only lets in those of its generation.
///
/// A signal that ends a job, here or on any host, ends it on all; but SIGTERM to another host than the hub's only takes
/// that host out of an elastic job. A host that loses the hub ends its ranks and, where there are restarts or the job
/// is elastic, joins again.
///
/// @return  The job's exit code, as JobResult::exit_code, over all hosts; 1 where a host was lost or did not come.
/// @throws Error  The token is missing or wrong, or the others refuse this host; says why.
/// @throws IoError, ContractError, FormatError  As run_job(); or the endpoint is not this host's, or taken.
[[nodiscard]] int run_agent(const AgentOptions& options);

}  // namespace lockstep::launch
