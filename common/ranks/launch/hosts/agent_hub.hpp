#pragma once
/// @file
/// Where the launchers of a job's hosts (its agents) meet: one of them serves the hub, which forms generations of them,
/// and hears first what goes wrong.
#include <chrono>
#include <memory>
#include <string>

#include "launch/hosts/agent_messages.hpp"
#include "net/address.hpp"

namespace lockstep::launch {

/// What a job is, and how patient.
struct HubOptions {
  net::SocketAddress address;  ///< To listen on.
  std::string token;           ///< Of the job; every agent proves it.
  JoinMessage own;             ///< Of the agent that serves the hub: others must agree with its job, role and numbers.
  std::chrono::milliseconds join{60'000};       ///< For the hosts of a generation to come together.
  std::chrono::milliseconds last_call{30'000};  ///< Elastic: for more hosts, once the least number is there.
  /// The same after the first generation: who comes later than that, starts a generation more.
  std::chrono::milliseconds later_call{3'000};
  std::chrono::milliseconds liveness{15'000};  ///< Without a sign of life, after which a host counts as lost.
  std::chrono::milliseconds backoff{1'000};    ///< Before the first restart; twice as long before each one more...
  std::chrono::milliseconds longest_backoff{30'000};  ///< ... up to this.
};

/// Serves the meeting of the agents from a thread of its own.
///
/// A generation is a set of hosts, the numbers of their ranks, and a store that only its ranks can join: its number and
/// a token made of the job's are proved on every connection. The hub starts one when all hosts are there (elastic: when
/// the largest number is, or when no more have come during the last call), and ends it at the first failure on any of
/// them. Once all its ranks have ended, it starts the next one if there are restarts left, or tells everybody how the
/// job ended. Elastic jobs also start the next one, and count no restart, when a host is lost or another one comes.
class AgentHub {
 public:
  /// @throws IoError  Cannot listen there: the address is another host's, or the port is taken.
  explicit AgentHub(HubOptions options);
  AgentHub(const AgentHub&) = delete;
  AgentHub& operator=(const AgentHub&) = delete;
  /// Waits a moment until all agents have heard the verdict.
  ~AgentHub();

  /// With the port that the kernel chose, where that was left to it.
  [[nodiscard]] net::SocketAddress address() const;

 private:
  class Server;
  std::unique_ptr<Server> server_;
};

/// The token of the ranks of one run of a job: of use to nobody who knows a run's, for another run.
/// @param token  The job's. @param nonce  Of the run; no secret.
[[nodiscard]] std::string token_of_run(const std::string& token, const std::string& nonce);

}  // namespace lockstep::launch
