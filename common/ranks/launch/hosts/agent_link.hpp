#pragma once
/// @file
/// An agent's connection to the hub that the launchers of all hosts meet at.
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

/// Where the hub is, and how patiently it is waited for.
struct LinkOptions {
  net::SocketAddress hub;              ///< --rdzv-endpoint.
  std::string token;                   ///< Of the job.
  std::chrono::milliseconds join;      ///< Until there must be a connection.
  std::chrono::milliseconds liveness;  ///< Without a sign of life of the other end, after which it counts as dead.
};

/// Signs of life go out this often: several fit into `liveness`, so that one that is late means nothing.
[[nodiscard]] std::chrono::milliseconds heartbeat_interval(std::chrono::milliseconds liveness) noexcept;

/// Connects, joins and sends signs of life from a thread of its own, until it is destroyed or the hub is lost: closed
/// connections are noticed at once, silent ones after `liveness`. Nothing here waits, whatever the network does.
/// Thread safety: one thread calls. The thread inherits the caller's signal mask, which should block what the caller
/// takes by a descriptor.
class AgentLink {
 public:
  /// Starts to connect.
  AgentLink(LinkOptions options, JoinMessage join);
  AgentLink(const AgentLink&) = delete;
  AgentLink& operator=(const AgentLink&) = delete;
  /// Sends what waits to be sent, for a moment, and disconnects.
  ~AgentLink();

  /// Readable while receive() has something.
  [[nodiscard]] int fd() const noexcept { return inbox_ready_.get(); }
  /// The next message of the hub, if one is there; never a heartbeat. Never waits.
  [[nodiscard]] std::optional<AgentMessage> receive();
  /// Why the hub cannot be reached, or cannot any more; after the last message. Nothing while it can.
  [[nodiscard]] std::optional<std::string> loss();

  /// Queues a message. What is sent to a hub that is lost is dropped.
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
  std::string hub_name_ = "the host of --rdzv-endpoint";  // of the thread; later as the hub calls itself
  UniqueFd inbox_ready_;                                  // counts the inbox, and 1 more for the loss
  UniqueFd wake_up_;                                      // of the thread: something to send, or to stop

  std::mutex mutex_;  // guards what follows
  std::deque<AgentMessage> inbox_;
  std::deque<AgentMessage> outbox_;
  std::optional<std::string> loss_;

  std::jthread thread_;  // last: stops before what it uses goes
};

}  // namespace lockstep::launch
