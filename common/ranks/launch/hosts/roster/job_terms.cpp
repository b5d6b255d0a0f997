#include "launch/hosts/roster/job_terms.hpp"

#include <utility>

#include "base/error.hpp"

namespace lockstep::launch {
namespace {

std::string nodes_text(const JoinMessage& join) {
  return join.min_nodes == join.max_nodes ? concat(join.max_nodes) : concat(join.min_nodes, ":", join.max_nodes);
}

}  // namespace

JobTerms::JobTerms(JoinMessage own, const std::string& address)
    : own_(std::move(own)), job_(concat("the job at ", address)) {}

std::string JobTerms::objection_to(const JoinMessage& message) const {
  const auto differs = [&](const char* option, const auto& theirs, const auto& ours) {
    return concat(job_, " was started with ", option, " ", ours, ", this launcher with ", option, " ", theirs);
  };
  if (message.job != own_.job) {
    return concat(job_, " is --rdzv-id ", own_.job, ", not ", message.job,
                  "; two jobs need two endpoints: give one of them another port");
  }
  if (message.role != own_.role) return differs("--role", message.role, own_.role);
  if (nodes_text(message) != nodes_text(own_)) return differs("--nnodes", nodes_text(message), nodes_text(own_));
  if (message.max_restarts != own_.max_restarts)
    return differs("--max-restarts", message.max_restarts, own_.max_restarts);
  if (message.local_world_size < 1) return "an agent without ranks";
  return objection_to_rank_of(message);
}

std::string JobTerms::objection_to_rank_of(const JoinMessage& message) const {
  if (message.node_rank >= own_.max_nodes) {
    return concat("--node-rank ", message.node_rank, " is out of range: with --nnodes ", nodes_text(message),
                  " node ranks are 0 to ", own_.max_nodes - 1);
  }
  if (message.node_rank == 0 && !is_own(message)) {
    return concat("--node-rank 0 is that of the host of --rdzv-endpoint, ", own_.host,
                  "; if two launchers were started for it, one is too many");
  }
  return "";
}

}  // namespace lockstep::launch
