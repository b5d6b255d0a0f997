#pragma once
/// @file
/// The course of a job of many hosts, from generation to generation: decisions only, no sockets, threads or clocks.
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

/// Where the ranks of a generation meet.
struct GenerationPorts {
  int store = 0;   ///< Of the store that the hub's process serves to them.
  int master = 0;  ///< Free, on the same host: MASTER_PORT.
};

/// What a roster needs done; the hub does it with sockets.
struct RosterActions {
  /// Sends a message to an agent that has not been lost.
  std::function<void(int agent, const AgentMessage&)> send;
  /// Opens a store for a generation, closing that of the one before.
  std::function<GenerationPorts(int generation)> open_store;
  /// Closes the connection of an agent that the roster has counted as lost by itself.
  std::function<void(int agent)> drop;
  /// Whether an agent has lately given a sign of life.
  std::function<bool(int agent)> is_alive;
  /// How the agents reach the hub's host: its address as `agent` has connected to it.
  std::function<std::string(int agent)> hub_host_seen_by;
  /// The time.
  std::function<Deadline::Clock::time_point()> now = Deadline::Clock::now;
};

/// The decisions of AgentHub. An agent is a number that its owner chooses, never twice the same.
///
/// Hosts gather; a generation runs; something ends it, and its other ranks as well; after that the job's hosts gather
/// again, at once or after a pause, or the job is over. Who is here, which hosts are enough, what came first, and what
/// comes next is decided by PresentHosts, Gathering, FirstCause and RestartPolicy. Thread safety: one thread.
class AgentRoster {
 public:
  using Time = Deadline::Clock::time_point;

  /// @param nonce  Of this run of the job.
  AgentRoster(HubOptions options, std::string nonce, RosterActions actions);

  /// An agent has said something. Its first message must be a JoinMessage.
  /// @throws FormatError  The message is not an agent's, or comes out of order.
  void take(int agent, const AgentMessage& message);
  /// An agent's connection has ended, or it counts as dead.
  /// @param why         "its launcher closed the connection". @param last_heard  When it last gave a sign of life.
  void lose(int agent, const std::string& why, Time last_heard);
  /// Acts on deadlines that have passed.
  void advance();
  /// When to call advance() even if no message arrives; Time::max(): never.
  [[nodiscard]] Time next_deadline() const;

  /// All agents have been told how the job ended.
  [[nodiscard]] bool is_over() const noexcept { return phase_ == Phase::kOver; }
  /// An agent that was sent away: it is not to be heard any more.
  [[nodiscard]] bool is_refused(int agent) const { return !hosts_.has(agent); }

  /// All that later decisions depend on, as text: rosters of equal state decide alike, whatever has led there.
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
  [[nodiscard]] std::string spare_text() const;
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
  std::optional<FirstCause> cause_;  // why the newest generation ends or has ended
  std::optional<int> hub_signal_;    // that asked the hub's agent to end
};

}  // namespace lockstep::launch
