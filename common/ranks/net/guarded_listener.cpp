#include "net/guarded_listener.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/log.hpp"

namespace lockstep::net {
namespace {

// A shortage of this process or machine that may end in a moment.
bool is_shortage(int error) { return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM; }

}  // namespace

GuardedListener::GuardedListener(const SocketAddress& address, std::string token, const Identity& expected)
    : GuardedListener(std::move(token), expected, TcpListener(address)) {}

GuardedListener::GuardedListener(std::string token, const Identity& expected, TcpListener listener)
    : listener_(std::move(listener)), token_(std::move(token)), expected_(expected) {}

void GuardedListener::append_poll_entries(std::vector<pollfd>& entries) const {
  if (!pause_ && !is_full()) entries.push_back({listener_.fd(), POLLIN, 0});  // otherwise poll would return at once
  for (const HandshakeServer& stranger : unauthenticated_) entries.push_back({stranger.fd(), POLLIN, 0});
}

Deadline GuardedListener::next_deadline() const noexcept {
  Deadline next = unauthenticated_.empty() ? Deadline::never() : unauthenticated_.front().deadline();
  if (is_full()) {
    for (const HandshakeServer& stranger : unauthenticated_) next = next.earliest(turn_of(stranger));
  }
  return pause_ ? next.earliest(*pause_) : next;
}

Deadline GuardedListener::turn_of(const HandshakeServer& stranger) {
  return Deadline::after((stranger.has_begun() ? kTurn : kSilentTurn) - stranger.deadline().waited());
}

// Drops silent strangers before those that have begun.
bool GuardedListener::make_room() {
  if (!is_full()) return true;
  auto dropped = std::ranges::find_if(unauthenticated_, [](const HandshakeServer& stranger) {
    return !stranger.has_begun() && turn_of(stranger).has_expired();
  });
  if (dropped == unauthenticated_.end()) {
    const auto has_had_turn = [](const HandshakeServer& stranger) { return turn_of(stranger).has_expired(); };
    dropped = std::ranges::find_if(unauthenticated_, has_had_turn);
  }
  if (dropped == unauthenticated_.end()) return false;
  refuse(dropped, concat(dropped->peer(), " was dropped to make room for others"));
  return true;
}

void GuardedListener::refuse(std::list<HandshakeServer>::iterator stranger, const std::string& reason) {
  ++refused_count_;
  last_refusal_ = reason;
  unauthenticated_.erase(stranger);
}

void GuardedListener::accept_waiting() {
  if (pause_ && !pause_->has_expired()) return;
  pause_.reset();
  for (std::size_t count = 0; count < kMaxAcceptsPerTurn && make_room(); ++count) {
    try {
      auto socket = listener_.try_accept();
      if (!socket) return;
      accept_one(std::move(*socket));
    } catch (const IoError& error) {
      if (!is_shortage(error.error_number())) throw;
      if (unauthenticated_.empty()) return pause(error.what());
      refuse(unauthenticated_.begin(), error.what());  // frees a descriptor for the next one, which may be honest
    }
  }
}

void GuardedListener::accept_one(StreamSocket socket) {
  pause_reason_.clear();
  unauthenticated_.emplace_back(std::move(socket), token_, expected_, Deadline::after(kStrangerLimit));
}

void GuardedListener::pause(const std::string& reason) {
  pause_ = Deadline::after(kPause);
  if (!std::exchange(pause_reason_, reason).empty()) return;  // already reported
  Logger().warning(concat(reason, "; new connections wait"));
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
    if (refused_count_ > 0)
      message += concat("; refused ", counted(refused_count_, "stranger"), ", last: ", last_refusal_);
    if (!pause_reason_.empty()) message += concat("; ", pause_reason_);
    throw TimeoutError(message);
  }
}

}  // namespace lockstep::net
