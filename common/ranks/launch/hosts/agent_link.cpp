#include "launch/hosts/agent_link.hpp"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/error.hpp"
#include "launch/hosts/own_pauses.hpp"
#include "net/frame_stream.hpp"
#include "net/handshake.hpp"

namespace lockstep::launch {
namespace {

using namespace std::chrono_literals;

// Limit of one attempt to connect; stop requests are checked between attempts.
constexpr auto kAttemptLimit = 250ms;
// For the last messages of an ending agent.
constexpr auto kLastMessagesLimit = 1s;

UniqueFd make_eventfd(int flags) {
  UniqueFd fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | flags));
  if (!fd.is_open()) throw IoError("eventfd", errno);
  return fd;
}

}  // namespace

std::chrono::milliseconds heartbeat_interval(std::chrono::milliseconds liveness) noexcept {
  return std::clamp<std::chrono::milliseconds>(liveness / 5, 1ms, 1000ms);
}

AgentLink::AgentLink(LinkOptions options, JoinMessage join)
    : options_(std::move(options)),
      join_(std::move(join)),
      inbox_ready_(make_eventfd(EFD_SEMAPHORE)),
      wake_up_(make_eventfd(0)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

AgentLink::~AgentLink() {
  thread_.request_stop();
  ::eventfd_write(wake_up_.get(), 1);
}

std::optional<AgentMessage> AgentLink::receive() {
  const std::scoped_lock lock(mutex_);
  if (inbox_.empty()) return std::nullopt;
  eventfd_t one = 0;
  ::eventfd_read(inbox_ready_.get(), &one);
  AgentMessage message = std::move(inbox_.front());
  inbox_.pop_front();
  return message;
}

std::optional<std::string> AgentLink::loss() {
  const std::scoped_lock lock(mutex_);
  return inbox_.empty() ? loss_ : std::nullopt;
}

void AgentLink::send(const AgentMessage& message) {
  {
    const std::scoped_lock lock(mutex_);
    if (loss_) return;
    outbox_.push_back(message);
  }
  ::eventfd_write(wake_up_.get(), 1);
}

void AgentLink::deliver(AgentMessage message) {
  const std::scoped_lock lock(mutex_);
  inbox_.push_back(std::move(message));
  ::eventfd_write(inbox_ready_.get(), 1);
}

void AgentLink::lose(const std::string& reason) {
  const std::scoped_lock lock(mutex_);
  loss_ = reason;
  ::eventfd_write(inbox_ready_.get(), 1);
}

void AgentLink::run(const std::stop_token& stop) noexcept {
  try {
    connect_and_serve(stop);
  } catch (const std::exception& error) {
    lose(error.what());
  }
}

std::optional<net::FrameStream> AgentLink::connect(const std::stop_token& stop) {
  const Deadline deadline = Deadline::after(options_.join);
  while (!stop.stop_requested()) {
    try {
      net::StreamSocket socket = net::connect_authenticated(options_.hub, options_.token, {net::Role::kAgent, 0, -1, 0},
                                                            hub_name_, Deadline::after(options_.liveness),
                                                            Deadline::after(kAttemptLimit).earliest(deadline));
      return net::FrameStream(std::move(socket), {kMaxAgentMessageBytes, 0});
    } catch (const TimeoutError& error) {
      if (!deadline.has_expired()) continue;
      throw TimeoutError(concat(
          "no launcher to meet at ", options_.hub.text(), " for ", format_seconds(deadline.waited()), ": ",
          error.what(), "; is `lockstep launch` running on that host (node rank 0), and can this host reach it?"));
    }
  }
  return std::nullopt;
}

void AgentLink::connect_and_serve(const std::stop_token& stop) {
  std::optional<net::FrameStream> stream = connect(stop);
  if (!stream) return;
  send_message(*stream, join_);
  const auto interval = heartbeat_interval(options_.liveness);
  Deadline next_heartbeat = Deadline::after(interval);
  Deadline silence = Deadline::after(options_.liveness);
  OwnPauses own_pauses(options_.liveness);
  while (!stop.stop_requested()) {
    std::array<pollfd, 2> watched{{{stream->fd(), stream->poll_events(), 0}, {wake_up_.get(), POLLIN, 0}}};
    ::poll(watched.data(), watched.size(), next_heartbeat.earliest(silence).poll_timeout_ms());
    const auto now = Deadline::Clock::now();
    const bool was_stopped = own_pauses.note_step(now);
    // Before anything is sent, which fails if the hub has sent its last message and has gone.
    if (take_frames(*stream) || was_stopped) silence = Deadline::after(options_.liveness);
    if (now >= silence.when()) {
      throw TimeoutError(
          concat(hub_name_, " (", options_.hub.text(), ") is silent for ", format_seconds(options_.liveness)));
    }
    if (next_heartbeat.has_expired()) {
      send(HeartbeatMessage{});
      next_heartbeat = Deadline::after(interval);
    }
    send_waiting(*stream);
  }
  send_waiting(*stream);
  stream->flush_until(Deadline::after(kLastMessagesLimit));
}

// Whether anything has arrived from the hub.
bool AgentLink::take_frames(net::FrameStream& stream) {
  bool is_heard = false;
  while (const auto frame = stream.receive()) {
    is_heard = true;
    AgentMessage message = decode_agent_message(frame->payload);
    if (std::holds_alternative<HeartbeatMessage>(message)) continue;
    if (const auto* welcome = std::get_if<WelcomeMessage>(&message)) {
      hub_name_ = welcome->hub;
      stream.socket().set_peer(concat(hub_name_, " (", options_.hub.text(), ")"));
    }
    deliver(std::move(message));
  }
  return is_heard;
}

void AgentLink::send_waiting(net::FrameStream& stream) {
  eventfd_t ignored = 0;
  ::eventfd_read(wake_up_.get(), &ignored);
  std::deque<AgentMessage> outgoing;
  {
    const std::scoped_lock lock(mutex_);
    outgoing.swap(outbox_);
  }
  for (const AgentMessage& message : outgoing) send_message(stream, message);
  stream.flush();
}

}  // namespace lockstep::launch
