#include "launch/hosts/agent_hub.hpp"

#include <poll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <list>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/sha256.hpp"
#include "launch/hosts/agent_link.hpp"
#include "launch/hosts/own_pauses.hpp"
#include "launch/hosts/roster/agent_roster.hpp"
#include "launch/rank_environment.hpp"
#include "net/frame_stream.hpp"
#include "net/guarded_listener.hpp"
#include "store/tcp_store.hpp"

namespace lockstep::launch {
namespace {

using Clock = Deadline::Clock;

// For the agents to learn how the job ended, and to exit.
constexpr std::chrono::seconds kFarewellLimit{3};
// An agent that does not read is disconnected beyond this.
constexpr std::size_t kMaxQueuedBytes = 4 * kMaxAgentMessageBytes;

// The address that the others connect to: each is told the address that it has used.
net::SocketAddress listening_address(net::SocketAddress endpoint) {
  const bool is_number = endpoint.host.find_first_not_of("0123456789.") == std::string::npos ||
                         endpoint.host.find(':') != std::string::npos;
  if (!is_number && !net::is_loopback(endpoint.host)) endpoint.host = "0.0.0.0";
  return endpoint;
}

}  // namespace

std::string token_of_run(const std::string& token, const std::string& nonce) {
  return hex_digits(hmac_sha256(token, concat("lockstep run ", nonce)));
}

// One thread serves all agents; only its wake-up descriptor is shared.
class AgentHub::Server {
 public:
  explicit Server(HubOptions options)
      : options_(std::move(options)),
        interval_(heartbeat_interval(options_.liveness)),
        own_pauses_(options_.liveness),
        nonce_(make_token()),
        listener_(listening_address(options_.address), options_.token, {net::Role::kAgent, 0, -1, 0}),
        wake_up_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        roster_(options_, nonce_, actions()) {
    if (!wake_up_.is_open()) throw IoError("eventfd", errno);
    thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
  }

  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  ~Server() {
    thread_.request_stop();
    ::eventfd_write(wake_up_.get(), 1);
  }

  [[nodiscard]] net::SocketAddress address() const { return {options_.address.host, listener_.address().port}; }

 private:
  struct Connection {
    int agent;
    net::FrameStream stream;
    Clock::time_point last_heard;
    bool is_lost = false;
  };

  RosterActions actions() {
    return {.send = [this](int agent, const AgentMessage& message) { send(agent, message); },
            .open_store = [this](int generation) { return open_store(generation); },
            .drop = [this](int agent) { drop(agent); },
            .is_alive = [this](int agent) { return is_alive(agent); },
            .hub_host_seen_by = [this](int agent) { return hub_host_seen_by(agent); },
            .now = [this] { return now_; }};
  }

  void serve(const std::stop_token& stop) noexcept {
    std::optional<Deadline> farewell;
    while (true) {
      if (stop.stop_requested() && !farewell) farewell = Deadline::after(kFarewellLimit);
      if (farewell && (connections_.empty() || !roster_.is_over() || farewell->has_expired())) return;
      try {
        step(farewell.value_or(Deadline::never()));
      } catch (const std::exception& error) {
        Logger("launch").error(error.what());
        std::this_thread::sleep_for(std::chrono::milliseconds{50});  // it may recur at once
      }
    }
  }

  void step(const Deadline& limit) {
    std::vector<pollfd> entries{{wake_up_.get(), POLLIN, 0}};
    listener_.append_poll_entries(entries);
    for (const Connection& connection : connections_) {
      entries.push_back({connection.stream.fd(), connection.stream.poll_events(), 0});
    }
    const Deadline next = limit.earliest(listener_.next_deadline()).earliest(next_heartbeat_);
    const Deadline decision = Deadline::after(roster_.next_deadline() - Clock::now());
    ::poll(entries.data(), entries.size(), next.earliest(decision).poll_timeout_ms());
    eventfd_t ignored = 0;
    ::eventfd_read(wake_up_.get(), &ignored);
    now_ = Clock::now();
    if (own_pauses_.note_step(now_)) {
      for (Connection& connection : connections_) connection.last_heard = now_;
      roster_.excuse_pause();
    }
    // Connected agents come first, so that strangers who flood the listener cannot starve them.
    for (Connection& connection : connections_) serve_one(connection);
    for (net::AcceptedPeer& peer : listener_.advance()) {
      connections_.push_back({next_agent_++, {std::move(peer.socket), {kMaxAgentMessageBytes, 0}}, now_});
    }
    send_heartbeats();
    find_silent();
    roster_.advance();
    std::erase_if(connections_, [](const Connection& connection) { return connection.is_lost; });
  }

  void serve_one(Connection& connection) {
    if (connection.is_lost) return;
    try {
      for (int count = 0; count < net::FrameStream::kMostPerTurn; ++count) {
        const auto frame = connection.stream.receive();
        if (!frame) break;
        connection.last_heard = now_;
        const AgentMessage message = decode_agent_message(frame->payload);
        const bool is_farewell = roster_.is_refused(connection.agent) && !std::holds_alternative<JoinMessage>(message);
        if (!is_farewell) roster_.take(connection.agent, message);
        if (connection.is_lost) return;
      }
      connection.stream.flush();
      if (connection.stream.queued_bytes() > kMaxQueuedBytes) throw IoError("it does not read what it is sent");
    } catch (const IoError&) {
      lose(connection, "its launcher closed the connection; it was killed, or its host went down");
    } catch (const Error& error) {
      lose(connection, concat("its launcher sent nonsense: ", error.what()));
    }
  }

  void lose(Connection& connection, const std::string& why) {
    connection.is_lost = true;
    roster_.lose(connection.agent, why, connection.last_heard);
  }

  void send_heartbeats() {
    if (!next_heartbeat_.has_expired()) return;
    next_heartbeat_ = Deadline::after(interval_);
    for (Connection& connection : connections_) {
      if (!connection.is_lost) send(connection.agent, HeartbeatMessage{});
    }
  }

  void find_silent() {
    for (Connection& connection : connections_) {
      if (connection.is_lost || now_ - connection.last_heard < options_.liveness) continue;
      lose(connection, concat("no sign of life for ", format_seconds(options_.liveness),
                              "; it is frozen, or the network between is down"));
    }
  }

  // A message that cannot be sent is lost with the connection, which serve_one() later finds broken.
  void send(int agent, const AgentMessage& message) {
    Connection* connection = find(agent);
    if (connection == nullptr || connection->is_lost) return;
    try {
      send_message(connection->stream, message);
    } catch (const IoError&) {
      connection->stream.socket().shutdown();
    }
  }

  void drop(int agent) {
    if (Connection* connection = find(agent)) connection->is_lost = true;
  }

  [[nodiscard]] bool is_alive(int agent) {
    const Connection* connection = find(agent);
    return connection != nullptr && now_ - connection->last_heard < 3 * interval_;  // one may be late
  }

  // Agents on the hub's own host, whose ranks others must reach, are told the address that the others use.
  [[nodiscard]] std::string hub_host_seen_by(int agent) {
    std::string seen_elsewhere = options_.address.host;
    for (Connection& connection : connections_) {
      net::StreamSocket& socket = connection.stream.socket();
      if (connection.is_lost || socket.is_within_host()) continue;
      seen_elsewhere = socket.local_address().host;
      if (connection.agent == agent) break;
    }
    return seen_elsewhere;
  }

  GenerationPorts open_store(int generation) {
    store_.reset();
    const net::SocketAddress any{listener_.address().host, 0};
    store_ = std::make_unique<store::TcpStoreServer>(any, token_of_run(options_.token, nonce_), generation);
    if (!master_port_) master_port_.emplace(ReservedPort::Reach::kAllHosts);
    return {store_->address().port, master_port_->number()};
  }

  [[nodiscard]] Connection* find(int agent) {
    for (Connection& connection : connections_) {
      if (connection.agent == agent) return &connection;
    }
    return nullptr;
  }

  HubOptions options_;
  std::chrono::milliseconds interval_;
  // Of the current step, in which no decision takes a later time: this process may be stopped between two of them.
  Clock::time_point now_ = Clock::now();
  OwnPauses own_pauses_;
  std::string nonce_;
  net::GuardedListener listener_;
  UniqueFd wake_up_;
  std::list<Connection> connections_;
  int next_agent_ = 0;
  Deadline next_heartbeat_ = Deadline::after({});
  std::unique_ptr<store::TcpStoreServer> store_;
  std::optional<ReservedPort> master_port_;
  AgentRoster roster_;
  std::jthread thread_;  // last: stops before the members it uses are destroyed
};

AgentHub::AgentHub(HubOptions options) : server_(std::make_unique<Server>(std::move(options))) {}
AgentHub::~AgentHub() = default;
net::SocketAddress AgentHub::address() const { return server_->address(); }

}  // namespace lockstep::launch
