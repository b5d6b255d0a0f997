#pragma once
/// @file
/// Who takes part in a job of many hosts, and what becomes of its generations: decisions only, no sockets.
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "launch/hosts/agent_hub.hpp"
#include "launch/hosts/agent_messages.hpp"

namespace lockstep::launch {

/// Where the ranks of a generation meet.
struct GenerationPorts {
  int store = 0;   ///< Of the store that the hub's process serves to them.
  int master = 0;  ///< Free, on the same host: MASTER_PORT.
};

/// What a roster has done; the hub does it with sockets.
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
};

/// The decisions of AgentHub. An agent is a number that its owner chooses, never twice the same.
/// Thread safety: one thread.
class AgentRoster {
 public:
  /// @param nonce  Of this run of the job.
  AgentRoster(HubOptions options, std::string nonce, RosterActions actions);

  /// An agent has said something. Its first message must be a JoinMessage.
  /// @throws FormatError  The message is not an agent's, or comes out of order.
  void take(int agent, const AgentMessage& message);
  /// An agent's connection has ended, or it counts as dead.
  /// @param why         "its launcher closed the connection". @param last_heard  When it last gave a sign of life.
  void lose(int agent, const std::string& why, Deadline::Clock::time_point last_heard);
  /// Does what time brings.
  void advance();
  /// When advance() is due.
  [[nodiscard]] Deadline next_deadline() const noexcept;

  /// All agents have been told how the job ended.
  [[nodiscard]] bool is_over() const noexcept { return phase_ == Phase::kOver; }
  /// An agent that was sent away: it is not to be heard any more.
  [[nodiscard]] bool is_refused(int agent) const { return !agents_.contains(agent); }

 private:
  enum class Phase { kGathering, kRunning, kEnding, kPausing, kOver };
  struct Agent {
    JoinMessage join;
    int group_rank = -1;  // in the newest generation that it is or was part of
    bool has_left = false;
  };
  struct Member {
    int agent = -1;
    int first_rank = 0;
    bool has_ended = false;
    int exit_code = 1;  // of its ranks, once they have ended
  };
  // Why a generation ends before its ranks have.
  struct Cause {
    enum class Kind { kRank, kHost, kSignal, kPreempted, kMembership };
    Kind kind = Kind::kRank;
    int agent = -1;
    int exit_code = 1;
    int rank = -1;  // of kRank: the culprit, perhaps a rank of another host than that of `agent`, who says so
    std::string text;
    std::vector<std::string> last_lines;
    Deadline::Clock::time_point when = Deadline::Clock::now();
  };

  void join(int agent, const JoinMessage& message);
  void lose_predecessor_of(const JoinMessage& message);
  [[nodiscard]] std::string reason_to_refuse(const JoinMessage& message) const;
  [[nodiscard]] std::string reason_to_refuse_rank(const JoinMessage& message) const;
  [[nodiscard]] bool is_own(const JoinMessage& message) const;
  [[nodiscard]] bool is_elastic() const { return options_.own.min_nodes < options_.own.max_nodes; }
  [[nodiscard]] int node_rank_of(const JoinMessage& message) const;

  void gather();
  void start_if_complete();
  void start_if_gathering();
  [[nodiscard]] std::vector<int> agents_in_order() const;
  [[nodiscard]] std::vector<int> chosen_agents() const;
  void start();
  [[nodiscard]] std::string who_is_missing() const;

  void take_failure(int agent, const FailureMessage& message);
  void take_end(int agent, const EndedMessage& message);
  void take_leave(int agent, int signal);
  void end_generation(Cause cause);
  void correct_cause(Cause cause);
  void conclude_if_ended();
  void conclude();
  void conclude_preemption();
  void restart_or_give_up();
  [[nodiscard]] bool have_all_saved() const;
  void give_verdict(const VerdictMessage& verdict);

  [[nodiscard]] Member* member(int agent);
  [[nodiscard]] int agent_of_rank(int rank, int otherwise) const;
  [[nodiscard]] std::string describe(int agent) const;
  void tell_all(const AgentMessage& message, int but = -1);

  HubOptions options_;
  std::string nonce_;
  RosterActions actions_;
  Phase phase_ = Phase::kGathering;
  std::map<int, Agent> agents_;      // connected and joined, members of the generation or not
  std::vector<Member> members_;      // of the newest generation, in the order of group ranks
  std::map<int, std::string> seen_;  // host names by node rank, also of those that are lost
  std::optional<Cause> cause_;
  Deadline deadline_;                  // of the phase
  std::optional<Deadline> last_call_;  // while gathering, once the least number is there
  int generation_ = -1;
  int next_generation_ = 0;
  int restart_count_ = 0;
  std::optional<int> own_signal_;  // that asked the hub's agent to end
};

}  // namespace lockstep::launch
