#pragma once
/// @file
/// An agent's connection to the hub.
#include <chrono>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/deadline.hpp"
#include "base/unique_fd.hpp"
#include "launch/hosts/agent_messages.hpp"
#include "net/address.hpp"
#include "net/frame_stream.hpp"

namespace lockstep::launch {

/// The hub's address and the time limits of the connection.
struct LinkOptions {
  net::SocketAddress hub;              ///< --rdzv-endpoint.
  std::string token;                   ///< The job's.
  std::chrono::milliseconds join;      ///< Limit for connecting.
  std::chrono::milliseconds liveness;  ///< Silence after which the other end counts as dead.
};

/// Interval of heartbeats: several fit into `liveness`, so that a late one does no harm.
[[nodiscard]] std::chrono::milliseconds heartbeat_interval(std::chrono::milliseconds liveness) noexcept;

/// Connects, joins and sends heartbeats from its own thread, until it is destroyed or the hub is lost: closed
/// connections are noticed at once, silent ones after `liveness`. No call blocks on the network. Thread safety: one
/// calling thread. The internal thread inherits the caller's signal mask, which should block signals that the caller
/// reads from a descriptor.
class AgentLink {
 public:
  /// Starts to connect.
  AgentLink(LinkOptions options, JoinMessage join);
  AgentLink(const AgentLink&) = delete;
  AgentLink& operator=(const AgentLink&) = delete;
  /// Briefly tries to send queued messages, then disconnects.
  ~AgentLink();

  /// Readable while receive() has a message.
  [[nodiscard]] int fd() const noexcept { return inbox_ready_.get(); }
  /// The next message from the hub, if there is one; never a heartbeat. Never blocks.
  [[nodiscard]] std::optional<AgentMessage> receive();
  /// Why the hub is unreachable or lost, after the last message; nullopt while it is reachable.
  [[nodiscard]] std::optional<std::string> loss();

  /// Queues a message; drops it if the hub is lost.
  void send(const AgentMessage& message);

 private:
  void run(const std::stop_token& stop) noexcept;
  void connect_and_serve(const std::stop_token& stop);
  [[nodiscard]] std::optional<net::FrameStream> connect(const std::stop_token& stop);
  [[nodiscard]] bool take_frames(net::FrameStream& stream);
  void send_waiting(net::FrameStream& stream);
  void deliver(AgentMessage message);
  void lose(const std::string& reason);

  LinkOptions options_;
  JoinMessage join_;
  std::string hub_name_ = "the host of --rdzv-endpoint";  // used by the thread; later the hub's own name
  UniqueFd inbox_ready_;                                  // counts the inbox, and 1 more for the loss
  UniqueFd wake_up_;                                      // for the thread: data to send, or stop

  std::mutex mutex_;  // guards the members below
  std::deque<AgentMessage> inbox_;
  std::deque<AgentMessage> outbox_;
  std::optional<std::string> loss_;

  std::jthread thread_;  // last: stops before the members it uses are destroyed
};

}  // namespace lockstep::launch
