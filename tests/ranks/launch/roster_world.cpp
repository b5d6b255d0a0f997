#include "launch/roster_world.hpp"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace lockstep::launch::explore {
namespace {

constexpr int kKilled = 128 + SIGKILL;

World* current = nullptr;  // for the actions of rosters, which are copied with their worlds

}  // namespace

World::World(const Job& job)
    : job_(job),
      hosts_(static_cast<std::size_t>(job.max_hosts)),
      roster_({.address = {"a", 1}, .token = "", .own = join_of(0)}, "nonce", actions(this)) {
  for (int host = 0; host < count(); ++host) connect(host);
}

JoinMessage World::join_of(int host) const {
  const std::string name(1, static_cast<char>('a' + host));
  return {.job = "night",
          .role = "default",
          .min_nodes = job_.min_hosts,
          .max_nodes = job_.max_hosts,
          .max_restarts = job_.max_restarts,
          .node_rank = host,
          .host = name,
          .process = 1,
          .instance = concat(name, at(host).has_returned),
          .local_world_size = host + 1,  // different numbers of ranks
          .last_generation = at(host).last_generation};
}

void World::connect(int host) {
  at(host).connection = next_connection_++;
  Connection& connection = connections_[at(host).connection];
  connection.host = host;
  connection.to_hub.push_back(join_of(host));
}

void World::send(int host, const AgentMessage& message) {
  if (at(host).connection >= 0) connections_.at(at(host).connection).to_hub.push_back(message);
}

void World::close(int host) {
  if (at(host).connection >= 0) connections_.at(at(host).connection).is_closed = true;
  at(host).connection = -1;
}

RosterActions World::actions(World* world) {
  current = world;
  return {.send = [](int agent, const AgentMessage& message) { current->take_sent(agent, message); },
          .open_store =
              [](int) {
                return GenerationPorts{1, 2};
              },
          .drop =
              [](int agent) {
                const auto dropped = current->connections_.find(agent);
                if (dropped == current->connections_.end()) return current->complain("drops what it has lost");
                const int host = dropped->second.host;
                if (current->at(host).connection == agent) current->at(host).connection = -1;
                current->connections_.erase(dropped);
              },
          .is_alive = [](int agent) { return !current->connections_.at(agent).is_closed; },
          .hub_host_seen_by = [](int) { return "a"; },
          .now = [] { return current->now_; }};
}

std::vector<Event> World::events(int faults_left) const {
  using Kind = Event::Kind;
  std::vector<Event> events;
  // A start, a refusal and the verdict arrive at once: the host's own events are tried after that anyway.
  for (int host = 0; host < count(); ++host) {
    const int agent = at(host).connection;
    if (agent < 0 || connections_.at(agent).to_host.empty()) continue;
    if (!std::holds_alternative<EndMessage>(connections_.at(agent).to_host.front())) return {{Kind::kDeliver, host}};
  }
  for (const auto& [agent, connection] : connections_)
    if (!connection.to_hub.empty() || connection.is_closed) events.push_back({Kind::kHear, agent});
  for (int host = 0; host < count(); ++host) {
    const Host& each = at(host);
    if (each.is_down && !each.has_returned && !roster_.is_over()) events.push_back({Kind::kComeBack, host});
    if (each.connection >= 0 && !connections_.at(each.connection).to_host.empty())
      events.push_back({Kind::kDeliver, host});
    if (each.is_running) events.push_back({Kind::kFinish, host});
    if (each.is_running && !each.is_told && has_peer_ended_badly(host)) events.push_back({Kind::kMiss, host});
  }
  // Later messages to the hub change nothing: one order is enough.
  if (roster_.is_over()) return events.empty() ? events : std::vector<Event>{events.front()};
  const bool has_deadline = roster_.next_deadline() != Time::max();
  if (events.empty() && has_deadline) events.push_back({Kind::kTime, 0});
  if (faults_left == 0) return events;
  if (!events.empty() && events.front().kind != Kind::kTime && has_deadline) events.push_back({Kind::kLate, 0});
  for (int host = 0; host < count(); ++host) {
    const Host& each = at(host);
    if (each.is_running && !each.is_told) {
      events.push_back({Kind::kFail, host});
      events.push_back({Kind::kKill, host});
    }
    if (each.connection < 0) continue;
    if (!each.is_leaving) {
      events.push_back({Kind::kLeave, host});
      events.push_back({Kind::kCancel, host});
    }
    if (host == 0) continue;  // the hub's own: without it there is no roster
    events.push_back({Kind::kDie, host});
    if (!each.is_leaving) events.push_back({Kind::kBreak, host});
  }
  return events;
}

std::string World::apply(Event event) {
  current = this;
  starts_.clear();
  switch (event.kind) {
    case Event::Kind::kHear:
      hear(event.whom);
      break;
    case Event::Kind::kDeliver:
      deliver(event.whom);
      break;
    case Event::Kind::kFinish:
      end_ranks(event.whom, at(event.whom).signal ? 128 + *at(event.whom).signal : at(event.whom).is_told ? 1 : 0);
      break;
    case Event::Kind::kMiss:
    case Event::Kind::kFail:
      fail(event.whom, 1);
      break;
    case Event::Kind::kKill:
      fail(event.whom, kKilled);
      break;
    case Event::Kind::kComeBack:
      at(event.whom) = Host{};
      at(event.whom).has_returned = true;
      connect(event.whom);
      break;
    case Event::Kind::kDie:
      connections_.at(at(event.whom).connection).to_hub.clear();
      close(event.whom);
      at(event.whom).is_running = false;
      at(event.whom).is_down = true;
      break;
    case Event::Kind::kBreak:
      close(event.whom);
      at(event.whom).is_running = false;
      connect(event.whom);
      break;
    case Event::Kind::kLeave:
      leave(event.whom, SIGTERM);
      break;
    case Event::Kind::kCancel:
      leave(event.whom, SIGINT);
      break;
    case Event::Kind::kTime:
    case Event::Kind::kLate:
      now_ = std::max(now_, roster_.next_deadline());
      roster_.advance();
      break;
  }
  check_starts();
  return complaint_;
}

// Messages to the hub.
void World::hear(int agent) {
  Connection& connection = connections_.at(agent);
  if (connection.to_hub.empty()) {
    connections_.erase(agent);
    return roster_.lose(agent, "its connection ended", now_);
  }
  const AgentMessage message = std::move(connection.to_hub.front());
  connection.to_hub.pop_front();
  if (std::holds_alternative<JoinMessage>(message) || !roster_.is_refused(agent)) roster_.take(agent, message);
}

// A launcher's reaction to a message of the hub (agent.cpp).
void World::deliver(int host) {
  Host& to = at(host);
  std::deque<AgentMessage>& messages = connections_.at(to.connection).to_host;
  const AgentMessage message = std::move(messages.front());
  messages.pop_front();
  if (const auto* start = std::get_if<StartMessage>(&message)) {
    if (to.is_running) complain(concat("starts the ranks of host ", host, " while they run"));
    to.is_running = true;
    to.is_told = false;
    to.start = *start;
    to.last_generation = start->generation;
  } else if (const auto* end = std::get_if<EndMessage>(&message)) {
    if (to.is_running && end->generation == to.start.generation) to.is_told = true;
  } else {  // a refusal, or the verdict
    if (to.is_running) complain(concat("forgets the ranks of host ", host));
    close(host);
  }
}

void World::end_ranks(int host, int exit_code) {
  Host& ended = at(host);
  ended.is_running = false;
  if (exit_code != 0) failed_generations_.insert(ended.start.generation);
  send(host, EndedMessage{ended.start.generation, exit_code, {}});
  if (ended.is_leaving && host != 0) close(host);
}

void World::fail(int host, int exit_code) {
  const StartMessage& start = at(host).start;
  send(host, FailureMessage{start.generation, start.first_rank, exit_code, "failed", {}});
  end_ranks(host, exit_code);
}

void World::leave(int host, int signal) {
  Host& leaving = at(host);
  send(host, LeaveMessage{signal});
  leaving.is_leaving = true;
  if (leaving.is_running) {
    leaving.is_told = true;
    leaving.signal = signal;
  } else if (host != 0) {
    close(host);
  }
}

bool World::has_peer_ended_badly(int host) const {
  const int generation = at(host).start.generation;
  return std::ranges::any_of(hosts_, [&](const Host& peer) {
    return &peer != &at(host) && (peer.is_down || failed_generations_.contains(generation) ||
                                  (peer.start.generation == generation && peer.is_told));
  });
}

// Messages from the roster.
void World::take_sent(int agent, const AgentMessage& message) {
  const auto found = connections_.find(agent);
  if (found == connections_.end()) return complain(concat("sends to agent ", agent, ", which is lost"));
  Connection& connection = found->second;
  if (connection.has_verdict) return complain(concat("goes on after the verdict for agent ", agent));
  if (std::holds_alternative<NoticeMessage>(message) || std::holds_alternative<WelcomeMessage>(message)) return;
  if (const auto* start = std::get_if<StartMessage>(&message)) {
    starts_[agent] = *start;
    if (verdict_) complain("starts a generation after the verdict");
    if (start->restart_count > job_.max_restarts) complain("restarts too often");
  }
  if (const auto* verdict = std::get_if<VerdictMessage>(&message)) {
    connection.has_verdict = true;
    if (verdict_ && *verdict_ != *verdict) complain("ends in two ways");
    verdict_ = *verdict;
  }
  connection.to_host.push_back(message);
}

// The generation that an event has started has all of its ranks, each once.
void World::check_starts() {
  if (starts_.empty()) return;
  std::set<int> ranks, group_ranks;
  int count = 0;
  for (const auto& [agent, start] : starts_) {
    const int own = connections_.at(agent).host + 1;
    for (int rank = start.first_rank; rank < start.first_rank + own; ++rank) ranks.insert(rank);
    count += own;
    group_ranks.insert(start.group_rank);
    if (start.group_world_size != static_cast<int>(starts_.size())) complain("a wrong number of hosts");
  }
  const int hosts = static_cast<int>(starts_.size());
  const int world_size = starts_.begin()->second.world_size;
  const bool are_complete =
      count == world_size && static_cast<int>(ranks.size()) == count && *ranks.rbegin() == count - 1;
  if (!are_complete || static_cast<int>(group_ranks.size()) != hosts) complain("forgets a rank, or has one twice");
  if (hosts < job_.min_hosts || hosts > job_.max_hosts) complain("a generation of too few hosts, or of too many");
}

// Nothing can happen any more.
std::string World::check_end() {
  if (!roster_.is_over()) return "is stuck";
  for (int host = 0; host < count(); ++host) {
    if (at(host).connection >= 0) complain(concat("has not told host ", host, " how the job ended"));
  }
  return complaint_;
}

std::string World::state() {
  current = this;
  std::string text = roster_.state();
  for (const auto& [agent, connection] : connections_) {
    text += concat("\n", agent, " ", connection.host, connection.is_closed, connection.has_verdict);
    for (const auto* queue : {&connection.to_hub, &connection.to_host}) {
      for (const AgentMessage& message : *queue) {
        text += concat(" ", message.index());
        if (const auto* failure = std::get_if<FailureMessage>(&message))
          text += concat(":", failure->generation, ":", failure->rank, ":", failure->exit_code);
        if (const auto* ended = std::get_if<EndedMessage>(&message))
          text += concat(":", ended->generation, ":", ended->exit_code);
        if (const auto* leave = std::get_if<LeaveMessage>(&message)) text += concat(":", leave->signal);
        if (const auto* start = std::get_if<StartMessage>(&message)) text += concat(":", start->generation);
        if (const auto* end = std::get_if<EndMessage>(&message)) text += concat(":", end->generation);
      }
      text += " |";
    }
  }
  for (const Host& host : hosts_) {
    text += concat("\n", host.connection, " ", host.is_running, host.is_told, host.is_leaving, host.is_down,
                   host.has_returned, " ", host.last_generation, " ", host.signal.value_or(0));
    if (host.is_running) text += concat(" ", failed_generations_.contains(host.start.generation));
  }
  return text;
}

}  // namespace lockstep::launch::explore
