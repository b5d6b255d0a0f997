#include "net/guarded_listener.hpp"

#include <cerrno>
#include <iterator>

#include "base/error.hpp"

namespace lockstep::net {

GuardedListener::GuardedListener(const SocketAddress& address, std::string token, const Identity& expected)
    : GuardedListener(std::move(token), expected, TcpListener(address)) {}

GuardedListener::GuardedListener(std::string token, const Identity& expected, TcpListener listener)
    : listener_(std::move(listener)), token_(std::move(token)), expected_(expected) {}

void GuardedListener::append_poll_entries(std::vector<pollfd>& entries) const {
  entries.push_back({listener_.fd(), POLLIN, 0});
  for (const HandshakeServer& stranger : unauthenticated_) entries.push_back({stranger.fd(), POLLIN, 0});
}

Deadline GuardedListener::next_deadline() const noexcept {
  return unauthenticated_.empty() ? Deadline::never() : unauthenticated_.front().deadline();
}

void GuardedListener::refuse(std::list<HandshakeServer>::iterator stranger, const std::string& reason) {
  ++refused_count_;
  last_refusal_ = reason;
  unauthenticated_.erase(stranger);
}

void GuardedListener::accept_waiting() {
  for (;;) {
    try {
      auto socket = listener_.try_accept();
      if (!socket) return;
      unauthenticated_.emplace_back(std::move(*socket), token_, expected_, Deadline::after(kStrangerLimit));
    } catch (const IoError& error) {
      const bool is_out_of_descriptors = error.error_number() == EMFILE || error.error_number() == ENFILE;
      if (!is_out_of_descriptors || unauthenticated_.empty()) throw;
      refuse(unauthenticated_.begin(), error.what());
    }
    if (unauthenticated_.size() > kMaxStrangers) {
      refuse(unauthenticated_.begin(), concat(unauthenticated_.front().peer(), " was dropped to make room for others"));
    }
  }
}

std::vector<AcceptedPeer> GuardedListener::advance() {
  accept_waiting();
  std::vector<AcceptedPeer> accepted;
  for (auto stranger = unauthenticated_.begin(); stranger != unauthenticated_.end();) {
    const auto next = std::next(stranger);
    try {
      if (const auto identity = stranger->advance()) {
        accepted.push_back({stranger->take_socket(), *identity});
        unauthenticated_.erase(stranger);
      } else if (stranger->deadline().has_expired()) {
        refuse(stranger,
               concat(stranger->peer(), " connected and proved no token within ", format_seconds(kStrangerLimit)));
      }
    } catch (const Error& error) {
      refuse(stranger, error.what());
    }
    stranger = next;
  }
  return accepted;
}

AcceptedPeer GuardedListener::accept(const Deadline& deadline) {
  for (;;) {
    if (!ready_.empty()) {
      AcceptedPeer peer = std::move(ready_.front());
      ready_.erase(ready_.begin());
      return peer;
    }
    std::vector<pollfd> entries;
    append_poll_entries(entries);
    const int timeout_ms = deadline.earliest(next_deadline()).poll_timeout_ms();
    const int ready_count = ::poll(entries.data(), entries.size(), timeout_ms);
    if (ready_count < 0 && errno != EINTR) throw IoError("poll", errno);
    ready_ = advance();
    if (!ready_.empty() || !deadline.has_expired()) continue;
    std::string message =
        concat("no rank of the job connected to ", address().text(), " for ", format_seconds(deadline.waited()));
    if (refused_count_ > 0) message += concat("; refused ", refused_count_, " strangers, last: ", last_refusal_);
    throw TimeoutError(message);
  }
}

}  // namespace lockstep::net
