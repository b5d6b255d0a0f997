#include "launch/hosts/roster/present_hosts.hpp"

#include <algorithm>
#include <climits>
#include <tuple>

#include "base/error.hpp"

namespace lockstep::launch {

std::string host_count_text(int count) { return concat(count, count == 1 ? " host" : " hosts"); }

std::string PresentHosts::objection_to(const JoinMessage& message) const {
  const std::string objection = terms_.objection_to(message);
  if (!objection.empty()) return objection;
  for (const auto& [agent, host] : hosts_) {
    const int taken = node_rank_of(agent);
    if (taken < 0 || taken != terms_.node_rank_of(message)) continue;
    return concat("--node-rank ", taken, " is taken by host ", host.join.host, " (process ", host.join.process,
                  "): was the same command started twice, or a second job of this name?");
  }
  return "";
}

std::optional<int> PresentHosts::predecessor_of(const JoinMessage& message,
                                                const std::function<bool(int agent)>& is_alive) const {
  for (const auto& [agent, host] : hosts_) {
    if (terms_.is_own(host.join)) continue;
    const bool has_its_place = node_rank_of(agent) >= 0 && node_rank_of(agent) == message.node_rank;
    if (host.join.instance == message.instance || (has_its_place && !is_alive(agent))) return agent;
  }
  return std::nullopt;
}

void PresentHosts::add(int agent, const JoinMessage& message) {
  hosts_[agent] = {message};
  if (node_rank_of(agent) >= 0) seen_[node_rank_of(agent)] = message.host;
}

std::vector<int> PresentHosts::choose() {
  std::vector<int> chosen = in_order();
  chosen.resize(std::min(chosen.size(), static_cast<std::size_t>(terms_.max_hosts())));
  if (!terms_.is_elastic()) chosen = by_node_rank(chosen);
  for (int group_rank = 0; const int agent : chosen) hosts_.at(agent).group_rank = group_rank++;
  return chosen;
}

// By node rank; then hosts of the last generation, then in order of arrival.
std::vector<int> PresentHosts::in_order() const {
  std::vector<int> order;
  for (const auto& [agent, host] : hosts_) {
    if (!host.is_leaving) order.push_back(agent);
  }
  std::ranges::sort(order, {}, [this](int agent) {
    const int node_rank = node_rank_of(agent), group_rank = at(agent).group_rank;
    return std::tuple(node_rank < 0 ? INT_MAX : node_rank, group_rank < 0 ? INT_MAX : group_rank, agent);
  });
  return order;
}

// A host with a node rank gets the place of this number; the others fill the remaining places.
std::vector<int> PresentHosts::by_node_rank(const std::vector<int>& order) const {
  std::vector<int> places(order.size(), -1), others;
  for (const int agent : order) {
    const int node_rank = node_rank_of(agent);
    if (node_rank >= 0)
      places[static_cast<std::size_t>(node_rank)] = agent;
    else
      others.push_back(agent);
  }
  for (auto other = others.begin(); int& place : places) {
    if (place < 0) place = *other++;
  }
  return places;
}

bool PresentHosts::has_own() const {
  return std::ranges::any_of(hosts_, [this](const auto& each) { return terms_.is_own(each.second.join); });
}

bool PresentHosts::is_any_leaving() const {
  return std::ranges::any_of(hosts_, [](const auto& each) { return each.second.is_leaving; });
}

int PresentHosts::count() const { return static_cast<int>(in_order().size()); }

std::vector<int> PresentHosts::agents() const {
  std::vector<int> agents;
  for (const auto& [agent, host] : hosts_) agents.push_back(agent);
  return agents;
}

std::string PresentHosts::describe(int agent) const {
  const PresentHost& host = at(agent);
  const int node_rank = host.group_rank >= 0 ? host.group_rank : node_rank_of(agent);
  return concat("host ", host.join.host,
                node_rank < 0 ? concat(" (process ", host.join.process, ")") : concat(" (node rank ", node_rank, ")"));
}

std::string PresentHosts::describe_missing() const {
  std::string present;
  for (const int agent : in_order()) present += concat(present.empty() ? "" : ", ", describe(agent));
  std::string missing = missing_node_ranks();
  if (missing.empty()) {
    missing = host_count_text(terms_.min_hosts() - static_cast<int>(hosts_.size()));
    if (terms_.is_elastic()) missing += concat(" of at least ", terms_.min_hosts());
  }
  return concat("present: ", present.empty() ? "none" : present, "; missing: ", missing);
}

// Empty if not all hosts are numbered.
std::string PresentHosts::missing_node_ranks() const {
  std::vector<bool> is_present(static_cast<std::size_t>(terms_.max_hosts()));
  for (const auto& [agent, host] : hosts_) {
    const int node_rank = node_rank_of(agent);
    if (node_rank < 0) return "";
    if (!host.is_leaving) is_present[static_cast<std::size_t>(node_rank)] = true;
  }
  std::string missing;
  for (int node_rank = 0; !terms_.is_elastic() && node_rank < terms_.max_hosts(); ++node_rank) {
    if (is_present[static_cast<std::size_t>(node_rank)]) continue;
    const auto known = seen_.find(node_rank);
    missing += concat(missing.empty() ? "" : ", ", "node rank ", node_rank,
                      known == seen_.end() ? "" : concat(" (host ", known->second, ", which was there)"));
  }
  return missing;
}

}  // namespace lockstep::launch
