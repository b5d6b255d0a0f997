#pragma once
/// @file
/// The meeting point of the launchers of a job's hosts (its agents): one of them serves the hub, which forms
/// generations and handles failures.
#include <chrono>
#include <memory>
#include <string>

#include "launch/hosts/agent_messages.hpp"
#include "net/address.hpp"

namespace lockstep::launch {

/// A job's settings and time limits.
struct HubOptions {
  net::SocketAddress address;
  std::string token;  ///< The job's; every agent proves it.
  JoinMessage own;    ///< From the hub's own agent: the others must agree with its job, role and numbers.
  std::chrono::milliseconds join{60'000};       ///< For the hosts of a generation to gather.
  std::chrono::milliseconds last_call{30'000};  ///< Elastic: wait for more hosts after the minimum is present.
  /// The same after the first generation; a host that comes later starts another generation.
  std::chrono::milliseconds later_call{3'000};
  std::chrono::milliseconds liveness{15'000};         ///< Silence after which a host counts as lost.
  std::chrono::milliseconds backoff{1'000};           ///< Before the first restart; doubles each time...
  std::chrono::milliseconds longest_backoff{30'000};  ///< ... up to this.
};

/// Serves the meeting of the agents from its own thread.
///
/// A generation is a set of hosts, the numbers of their ranks, and a store that only its ranks can join: every
/// connection proves the generation's number and a token derived from the job's. The hub starts one when all hosts are
/// present (elastic: when the maximum number is, or no more have come during the last call), and ends it at the first
/// failure on any of them. When all its ranks have ended, the hub starts the next one if restarts remain, or tells all
/// agents how the job ended. Elastic jobs also start the next one when a host is lost or another one comes; that counts
/// as no restart.
class AgentHub {
 public:
  /// @throws IoError  Cannot listen: the address belongs to another host, or the port is taken.
  explicit AgentHub(HubOptions options);
  AgentHub(const AgentHub&) = delete;
  AgentHub& operator=(const AgentHub&) = delete;
  /// Waits briefly for all agents to receive the verdict.
  ~AgentHub();

  /// Includes the port that the kernel chose, if it was 0.
  [[nodiscard]] net::SocketAddress address() const;

 private:
  class Server;
  std::unique_ptr<Server> server_;
};

/// The token of the ranks in one run of a job. It does not reveal the tokens of other runs.
/// @param token  The job's. @param nonce  Of the run; not secret.
[[nodiscard]] std::string token_of_run(const std::string& token, const std::string& nonce);

}  // namespace lockstep::launch
