#pragma once
/// @file
/// Steers a job of many hosts from generation to generation: only decisions, no sockets, threads or clocks.
#include <functional>
#include <optional>
#include <string>

#include "base/deadline.hpp"
#include "launch/hosts/agent_hub.hpp"
#include "launch/hosts/agent_messages.hpp"
#include "launch/hosts/roster/first_cause.hpp"
#include "launch/hosts/roster/gathering.hpp"
#include "launch/hosts/roster/generation.hpp"
#include "launch/hosts/roster/present_hosts.hpp"
#include "launch/hosts/roster/restart_policy.hpp"

namespace lockstep::launch {

/// Ports where the ranks of a generation meet.
struct GenerationPorts {
  int store = 0;   ///< The store that the hub's process serves.
  int master = 0;  ///< A free port on the same host, for MASTER_PORT.
};

/// Actions of a roster, which the hub carries out with sockets.
struct RosterActions {
  /// Sends a message to an agent that has not been lost.
  std::function<void(int agent, const AgentMessage&)> send;
  /// Opens a store for a generation and closes the previous one. If it throws, the job is over.
  std::function<GenerationPorts(int generation)> open_store;
  /// Closes the connection of an agent that the roster itself has declared lost.
  std::function<void(int agent)> drop;
  /// Whether an agent has recently sent a heartbeat.
  std::function<bool(int agent)> is_alive;
  /// The hub's address that `agent` has connected to.
  std::function<std::string(int agent)> hub_host_seen_by;
  std::function<Deadline::Clock::time_point()> now = Deadline::Clock::now;
};

/// The decisions of AgentHub. Agents are numbers chosen by the owner, never reused.
///
/// Hosts gather; a generation runs; an event ends it and its other ranks; then the job's hosts gather again, at once or
/// after a pause, or the job is over. PresentHosts tracks the hosts, Gathering decides when they are enough, FirstCause
/// finds what ended a generation, and RestartPolicy decides what follows. Thread safety: one thread.
class AgentRoster {
 public:
  using Time = Deadline::Clock::time_point;

  /// @param nonce  For this run of the job.
  AgentRoster(HubOptions options, std::string nonce, RosterActions actions);

  /// An agent has sent a message. Its first one must be a JoinMessage.
  /// @throws FormatError  The message is not an agent's, or out of order.
  void take(int agent, const AgentMessage& message);
  /// An agent's connection has ended, or it counts as dead.
  /// @param why         "its launcher closed the connection". @param last_heard  Time of its last heartbeat.
  void lose(int agent, const std::string& why, Time last_heard);
  /// Acts on deadlines that have passed.
  void advance();
  /// Call before anything else after this process was stopped: hosts that gather could not join meanwhile, so they get
  /// their whole time again.
  void excuse_pause();
  /// When to call advance() even if no message arrives; Time::max(): never.
  [[nodiscard]] Time next_deadline() const;

  /// All agents have been told how the job ended.
  [[nodiscard]] bool is_over() const noexcept { return phase_ == Phase::kOver; }
  /// Whether the agent was rejected: ignore further messages from it.
  [[nodiscard]] bool is_refused(int agent) const { return !hosts_.has(agent); }

  /// The state that later decisions depend on, as text: rosters with equal state decide alike.
  [[nodiscard]] std::string state() const;

 private:
  enum class Phase { kGathering, kRunning, kEnding, kPausing, kOver };

  void join(int agent, const JoinMessage& message);
  void take_failure(int agent, const FailureMessage& message);
  void take_leave(int agent, int signal);
  void take_end(int agent, const EndedMessage& message);

  void gather();
  void start_if_complete();
  void start();
  void end_generation(EndCause cause);
  void conclude_if_ended();
  void give_verdict(const VerdictMessage& verdict);
  [[nodiscard]] bool is_between_generations() const noexcept;
  void tell_all(const AgentMessage& message, int but = -1);

  HubOptions options_;
  std::string nonce_;
  RosterActions actions_;
  PresentHosts hosts_;
  RestartPolicy policy_;
  Gathering gathering_;
  Phase phase_ = Phase::kGathering;
  Time pause_end_ = Time::max();
  Generation generation_{-1};  // the newest
  int next_generation_ = 0;
  std::optional<FirstCause> cause_;  // why the newest generation is ending or has ended
  std::optional<int> hub_signal_;    // that asked the hub's agent to end
};

}  // namespace lockstep::launch
