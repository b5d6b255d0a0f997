#pragma once
/// @file
/// Settings that all hosts of a job must agree on. Internal to this module.
#include <string>

#include "launch/hosts/agent_messages.hpp"

namespace lockstep::launch {

/// The settings of a job, from the join message of the hub's own agent.
class JobTerms {
 public:
  /// @param own  From the hub's own agent. @param address  Of the hub, for messages.
  JobTerms(JoinMessage own, const std::string& address);

  /// Why an agent cannot take part, for people; empty if it agrees.
  [[nodiscard]] std::string objection_to(const JoinMessage& message) const;
  /// True if the hub's own agent sent the message.
  [[nodiscard]] bool is_own(const JoinMessage& message) const { return message.instance == own_.instance; }
  /// 0 for the hub's own agent; -1: the agent has none.
  [[nodiscard]] int node_rank_of(const JoinMessage& message) const { return is_own(message) ? 0 : message.node_rank; }

  /// "the job at HOST:PORT".
  [[nodiscard]] const std::string& job() const noexcept { return job_; }
  /// Name of the hub's host.
  [[nodiscard]] const std::string& hub_host() const noexcept { return own_.host; }
  [[nodiscard]] int min_hosts() const noexcept { return own_.min_nodes; }
  [[nodiscard]] int max_hosts() const noexcept { return own_.max_nodes; }
  [[nodiscard]] int max_restarts() const noexcept { return own_.max_restarts; }
  /// Hosts may come and go.
  [[nodiscard]] bool is_elastic() const noexcept { return own_.min_nodes < own_.max_nodes; }

 private:
  [[nodiscard]] std::string objection_to_rank_of(const JoinMessage& message) const;

  JoinMessage own_;
  std::string job_;
};

}  // namespace lockstep::launch
