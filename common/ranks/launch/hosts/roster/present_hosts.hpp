#pragma once
/// @file
/// The present hosts of a job. Internal to this module.
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launch/hosts/agent_messages.hpp"
#include "launch/hosts/roster/job_terms.hpp"

namespace lockstep::launch {

/// "1 host", "2 hosts".
[[nodiscard]] std::string host_count_text(int count);

/// A host whose agent has joined and has not been lost.
struct PresentHost {
  JoinMessage join;
  int group_rank = -1;      ///< In the newest generation that it is or was part of; -1: none.
  bool is_leaving = false;  ///< It will not join further generations.
};

/// The present hosts, by the numbers of their agents: decides which hosts may join, which form the next generation, and
/// which are missing. Thread safety: one thread.
class PresentHosts {
 public:
  explicit PresentHosts(JobTerms terms) : terms_(std::move(terms)) {}

  /// Why a host cannot be added, for people; empty if it can.
  [[nodiscard]] std::string objection_to(const JoinMessage& message) const;
  /// The agent that a joining host replaces: its own earlier one, or a dead one whose connection has not been closed
  /// yet. @param is_alive  Whether an agent has recently sent a heartbeat.
  [[nodiscard]] std::optional<int> predecessor_of(const JoinMessage& message,
                                                  const std::function<bool(int agent)>& is_alive) const;
  void add(int agent, const JoinMessage& message);
  void remove(int agent) { hosts_.erase(agent); }
  /// Excludes the host from further generations.
  void let_leave(int agent) { hosts_.at(agent).is_leaving = true; }
  /// Chooses the hosts of the next generation, in the order of their group ranks, and records these.
  std::vector<int> choose();

  [[nodiscard]] bool has(int agent) const { return hosts_.contains(agent); }
  [[nodiscard]] bool has_own() const;
  [[nodiscard]] bool is_any_leaving() const;
  /// Number of hosts that are not leaving.
  [[nodiscard]] int count() const;
  /// All agents, including leaving ones.
  [[nodiscard]] std::vector<int> agents() const;
  [[nodiscard]] const PresentHost& at(int agent) const { return hosts_.at(agent); }
  [[nodiscard]] const JobTerms& terms() const noexcept { return terms_; }

  /// "host a (node rank 0)".
  [[nodiscard]] std::string describe(int agent) const;
  /// "present: host a (node rank 0); missing: node rank 1".
  [[nodiscard]] std::string describe_missing() const;

 private:
  [[nodiscard]] int node_rank_of(int agent) const { return terms_.node_rank_of(at(agent).join); }
  [[nodiscard]] std::vector<int> in_order() const;
  [[nodiscard]] std::vector<int> by_node_rank(const std::vector<int>& order) const;
  [[nodiscard]] std::string missing_node_ranks() const;

  JobTerms terms_;
  std::map<int, PresentHost> hosts_;
  std::map<int, std::string> seen_;  // names by node rank, including lost hosts
};

}  // namespace lockstep::launch
