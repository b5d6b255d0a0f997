#include "launch/hosts/agent_roster.hpp"

#include <algorithm>
#include <climits>
#include <tuple>
#include <utility>

#include "base/error.hpp"

namespace lockstep::launch {
namespace {

std::string host_count(int count) { return concat(count, count == 1 ? " host" : " hosts"); }

std::string nodes_text(const JoinMessage& join) {
  return join.min_nodes == join.max_nodes ? concat(join.max_nodes) : concat(join.min_nodes, ":", join.max_nodes);
}

}  // namespace

AgentRoster::AgentRoster(HubOptions options, std::string nonce, RosterActions actions)
    : options_(std::move(options)),
      nonce_(std::move(nonce)),
      actions_(std::move(actions)),
      deadline_(Deadline::after(options_.join)) {}

void AgentRoster::take(int agent, const AgentMessage& message) {
  if (const auto* joining = std::get_if<JoinMessage>(&message)) return join(agent, *joining);
  if (std::holds_alternative<HeartbeatMessage>(message)) return;
  if (!agents_.contains(agent)) throw FormatError("a message of an agent that has not joined");
  if (const auto* failure = std::get_if<FailureMessage>(&message)) return take_failure(agent, *failure);
  if (const auto* leave = std::get_if<LeaveMessage>(&message)) return take_leave(agent, leave->signal);
  if (const auto* ended = std::get_if<EndedMessage>(&message)) return take_end(agent, *ended);
  throw FormatError("a message that only the hub sends");
}

Deadline AgentRoster::next_deadline() const noexcept {
  const bool has_deadline = phase_ == Phase::kGathering || phase_ == Phase::kPausing;
  if (!has_deadline) return Deadline::never();
  return phase_ == Phase::kGathering && last_call_ ? deadline_.earliest(*last_call_) : deadline_;
}

void AgentRoster::advance() {
  if (phase_ == Phase::kPausing && deadline_.has_expired()) gather();
  if (phase_ != Phase::kGathering) return;
  start_if_complete();
  if (phase_ != Phase::kGathering || !deadline_.has_expired()) return;
  const std::string after = cause_ ? concat("; before that: ", cause_->text) : "";
  give_verdict(
      {1,
       concat("not all hosts joined within ", format_seconds(deadline_.waited()), "; ", who_is_missing(), after),
       {}});
}

// Joining.

void AgentRoster::join(int agent, const JoinMessage& message) {
  if (agents_.contains(agent)) throw FormatError("an agent that joins twice");
  lose_predecessor_of(message);
  const std::string reason = reason_to_refuse(message);
  if (!reason.empty()) return actions_.send(agent, RefusalMessage{reason});
  agents_[agent] = {message};
  next_generation_ = std::max(next_generation_, message.last_generation + 1);
  if (node_rank_of(message) >= 0) seen_[node_rank_of(message)] = message.host;
  actions_.send(agent, WelcomeMessage{concat("host ", options_.own.host, " (node rank 0)")});
  if (phase_ == Phase::kGathering) return start_if_complete();
  if (phase_ != Phase::kRunning) return;
  const int count = static_cast<int>(members_.size());
  const bool is_finishing = std::ranges::any_of(members_, &Member::has_ended);
  if (count >= options_.own.max_nodes || is_finishing) {
    return actions_.send(agent, NoticeMessage{concat("the job runs on ", host_count(count), "; waiting as a spare")});
  }
  end_generation({.kind = Cause::Kind::kMembership,
                  .agent = agent,
                  .text = concat(describe(agent), " has come: the job grows from ", host_count(count)),
                  .last_lines = {}});
}

// A host that was cut off, or whose launcher was killed and started anew, may be back before its old connection is
// known to be dead.
void AgentRoster::lose_predecessor_of(const JoinMessage& message) {
  for (const auto& [id, agent] : agents_) {
    const bool is_same = agent.join.instance == message.instance;
    const bool has_its_place = node_rank_of(agent.join) >= 0 && node_rank_of(agent.join) == message.node_rank;
    if (is_own(agent.join) || !(is_same || (has_its_place && !actions_.is_alive(id)))) continue;
    const int predecessor = id;
    actions_.drop(predecessor);
    return lose(predecessor, "it came back over a new connection", Deadline::Clock::now());
  }
}

std::string AgentRoster::reason_to_refuse(const JoinMessage& message) const {
  const JoinMessage& own = options_.own;
  const std::string at = concat("the job at ", options_.address.text());
  const auto differs = [&](const char* option, const auto& theirs, const auto& ours) {
    return concat(at, " was started with ", option, " ", ours, ", this launcher with ", option, " ", theirs);
  };
  if (phase_ == Phase::kOver) return concat(at, " has ended");
  if (message.job != own.job) {
    return concat(at, " is --rdzv-id ", own.job, ", not ", message.job,
                  "; two jobs need two endpoints: give one of them another port");
  }
  if (message.role != own.role) return differs("--role", message.role, own.role);
  if (nodes_text(message) != nodes_text(own)) return differs("--nnodes", nodes_text(message), nodes_text(own));
  if (message.max_restarts != own.max_restarts) {
    return differs("--max-restarts", message.max_restarts, own.max_restarts);
  }
  if (message.local_world_size < 1) return "an agent without ranks";
  return reason_to_refuse_rank(message);
}

std::string AgentRoster::reason_to_refuse_rank(const JoinMessage& message) const {
  if (message.node_rank >= options_.own.max_nodes) {
    return concat("--node-rank ", message.node_rank, " is out of range: with --nnodes ", nodes_text(message),
                  " node ranks are 0 to ", options_.own.max_nodes - 1);
  }
  if (message.node_rank == 0 && !is_own(message)) {
    return concat("--node-rank 0 is that of the host of --rdzv-endpoint, ", options_.own.host,
                  "; if two launchers were started for it, one is too many");
  }
  for (const auto& [id, agent] : agents_) {
    const int taken = node_rank_of(agent.join);
    if (taken < 0 || taken != node_rank_of(message)) continue;
    return concat("--node-rank ", taken, " is taken by host ", agent.join.host, " (process ", agent.join.process,
                  "): was the same command started twice, or a second job of this name?");
  }
  return "";
}

bool AgentRoster::is_own(const JoinMessage& message) const { return message.instance == options_.own.instance; }

int AgentRoster::node_rank_of(const JoinMessage& message) const { return is_own(message) ? 0 : message.node_rank; }

// Forming a generation.

void AgentRoster::gather() {
  phase_ = Phase::kGathering;
  deadline_ = Deadline::after(options_.join);
  last_call_.reset();
  start_if_complete();
}

void AgentRoster::start_if_complete() {
  const auto count = std::ranges::count_if(agents_, [](const auto& agent) { return !agent.second.has_left; });
  const bool has_own = std::ranges::any_of(agents_, [this](const auto& agent) { return is_own(agent.second.join); });
  if (!has_own) return;
  if (count >= options_.own.max_nodes) return start();
  if (count < options_.own.min_nodes) return last_call_.reset();
  if (!last_call_) last_call_ = Deadline::after(generation_ < 0 ? options_.last_call : options_.later_call);
  if (last_call_->has_expired() || deadline_.has_expired()) start();
}

// By node rank; then those of the last generation, then as they have come.
std::vector<int> AgentRoster::agents_in_order() const {
  std::vector<int> order;
  for (const auto& [id, agent] : agents_) {
    if (!agent.has_left) order.push_back(id);
  }
  const auto key = [this](int id) {
    const Agent& agent = agents_.at(id);
    const int node_rank = node_rank_of(agent.join);
    return std::tuple(node_rank < 0 ? INT_MAX : node_rank, agent.group_rank < 0 ? INT_MAX : agent.group_rank, id);
  };
  std::ranges::sort(order, {}, key);
  return order;
}

// In the order of their group ranks. Who has a node rank keeps it where the number of hosts is fixed; the others fill
// up.
std::vector<int> AgentRoster::chosen_agents() const {
  std::vector<int> order = agents_in_order();
  const auto count = std::min(order.size(), static_cast<std::size_t>(options_.own.max_nodes));
  order.resize(count);
  if (is_elastic()) return order;
  std::vector<int> slots(count, -1);
  std::vector<int> others;
  for (const int id : order) {
    const int node_rank = node_rank_of(agents_.at(id).join);
    if (node_rank >= 0)
      slots[static_cast<std::size_t>(node_rank)] = id;
    else
      others.push_back(id);
  }
  auto other = others.begin();
  for (int& slot : slots) {
    if (slot < 0) slot = *other++;
  }
  return slots;
}

void AgentRoster::start() {
  phase_ = Phase::kRunning;
  cause_.reset();
  generation_ = next_generation_++;
  const GenerationPorts ports = actions_.open_store(generation_);
  members_.clear();
  int world_size = 0;
  for (const int id : chosen_agents()) {
    agents_.at(id).group_rank = static_cast<int>(members_.size());
    members_.push_back({id, world_size, false});
    world_size += agents_.at(id).join.local_world_size;
  }
  for (const Member& each : members_) {
    actions_.send(each.agent, StartMessage{.generation = generation_,
                                           .restart_count = restart_count_,
                                           .nonce = nonce_,
                                           .group_rank = agents_.at(each.agent).group_rank,
                                           .group_world_size = static_cast<int>(members_.size()),
                                           .first_rank = each.first_rank,
                                           .world_size = world_size,
                                           .master_host = actions_.hub_host_seen_by(each.agent),
                                           .store_port = ports.store,
                                           .master_port = ports.master});
  }
  for (const auto& [id, agent] : agents_) {
    if (member(id) != nullptr) continue;
    actions_.send(id, NoticeMessage{concat("the job runs on ", host_count(static_cast<int>(members_.size())),
                                           "; waiting as a spare")});
  }
}

std::string AgentRoster::who_is_missing() const {
  std::string present, missing;
  std::vector<bool> is_present(static_cast<std::size_t>(options_.own.max_nodes));
  for (const int id : agents_in_order()) {
    present += concat(present.empty() ? "" : ", ", describe(id));
    const int node_rank = node_rank_of(agents_.at(id).join);
    if (node_rank >= 0) is_present[static_cast<std::size_t>(node_rank)] = true;
  }
  const bool are_numbered =
      std::ranges::all_of(agents_, [this](const auto& agent) { return node_rank_of(agent.second.join) >= 0; });
  for (int node_rank = 0; are_numbered && !is_elastic() && node_rank < options_.own.max_nodes; ++node_rank) {
    if (is_present[static_cast<std::size_t>(node_rank)]) continue;
    const auto known = seen_.find(node_rank);
    missing += concat(missing.empty() ? "" : ", ", "node rank ", node_rank,
                      known == seen_.end() ? "" : concat(" (host ", known->second, ", which was there)"));
  }
  if (missing.empty()) {
    missing = host_count(options_.own.min_nodes - static_cast<int>(agents_.size()));
    if (is_elastic()) missing += concat(" of at least ", options_.own.min_nodes);
  }
  return concat("present: ", present.empty() ? "none" : present, "; missing: ", missing);
}

// Small things.

void AgentRoster::start_if_gathering() {
  if (phase_ == Phase::kGathering) start_if_complete();
}

AgentRoster::Member* AgentRoster::member(int agent) {
  const auto found = std::ranges::find(members_, agent, &Member::agent);
  return found == members_.end() ? nullptr : &*found;
}

// The agent of the newest generation that has started the rank, if it is still there.
int AgentRoster::agent_of_rank(int rank, int otherwise) const {
  for (const Member& each : members_) {
    const auto agent = agents_.find(each.agent);
    if (agent == agents_.end()) continue;
    const int end = each.first_rank + agent->second.join.local_world_size;
    if (rank >= each.first_rank && rank < end) return each.agent;
  }
  return otherwise;
}

std::string AgentRoster::describe(int agent) const {
  const Agent& described = agents_.at(agent);
  const int node_rank = described.group_rank >= 0 ? described.group_rank : node_rank_of(described.join);
  return concat(
      "host ", described.join.host,
      node_rank < 0 ? concat(" (process ", described.join.process, ")") : concat(" (node rank ", node_rank, ")"));
}

void AgentRoster::tell_all(const AgentMessage& message, int but) {
  for (const auto& [id, agent] : agents_) {
    if (id != but) actions_.send(id, message);
  }
}

}  // namespace lockstep::launch
