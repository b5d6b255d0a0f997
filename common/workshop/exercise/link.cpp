#include "exercise/link.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/error.hpp"
#include "exercise/trial_layout.hpp"

namespace lockstep::exercise {
namespace {

std::span<const std::byte> at_most(std::span<const std::byte> bytes, std::size_t most) {
  return most == 0 ? bytes : bytes.first(std::min(bytes.size(), most));
}

std::span<std::byte> at_most(std::span<std::byte> bytes, std::size_t most) {
  return most == 0 ? bytes : bytes.first(std::min(bytes.size(), most));
}

bool would_wait(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

// Without this check, poll(2) would wait forever for a missing connection.
void require_connection(const UniqueFd& fd, int peer, const char* doing) {
  if (fd.get() >= 0) return;
  if (peer < 0) throw IoError(concat(doing, " another rank: there is none, this rank is alone"), 0);
  throw IoError(concat(doing, " rank ", peer, ": this rank has closed the connection before"), 0);
}

// Enters an exchange with one direction left as that direction, so that a hang shows which one, and its progress.
void enter_rest(RankProgress* progress, const char* direction, int peer, std::size_t bytes, std::size_t left) {
  if (progress == nullptr) return;
  std::snprintf(progress->operation, sizeof progress->operation, "%s", direction);
  progress->peer = peer;
  progress->bytes = bytes;
  progress->bytes_done = bytes - left;
}

}  // namespace

Link::Link(UniqueFd fd, int peer, RankProgress* progress, const LinkOptions& options)
    : fd_(std::move(fd)), peer_(peer), progress_(progress), options_(options) {}

// Returns 0 if the call would block.
std::size_t Link::send_now(std::span<const std::byte> bytes, int flags) {
  require_connection(fd_, peer_, "sending to");
  const std::span<const std::byte> part = at_most(bytes, options_.most_at_once);
  while (true) {
    const ssize_t count = ::send(fd_.get(), part.data(), part.size(), flags | MSG_NOSIGNAL);
    if (count >= 0) return static_cast<std::size_t>(count);
    if (would_wait(errno)) return 0;
    if (errno != EINTR) throw IoError(concat("sending to rank ", peer_, kClosedConnection), errno);
  }
}

// Throws at the end of the stream; returns 0 if the call would block.
std::size_t Link::receive_now(std::span<std::byte> bytes, int flags) {
  require_connection(fd_, peer_, "receiving from");
  const std::span<std::byte> part = at_most(bytes, options_.most_at_once);
  while (true) {
    const ssize_t count = ::recv(fd_.get(), part.data(), part.size(), flags);
    if (count > 0) return static_cast<std::size_t>(count);
    if (count == 0) throw IoError(concat("receiving from rank ", peer_, kClosedConnection), 0);
    if (would_wait(errno)) return 0;
    // A peer that closes with unread data resets the connection.
    if (errno == ECONNRESET) throw IoError(concat("receiving from rank ", peer_, kClosedConnection, kUnreadBytes), 0);
    if (errno != EINTR) throw IoError(concat("receiving from rank ", peer_), errno);
  }
}

void Link::send(std::span<const std::byte> bytes, const std::source_location& where) {
  ProgressEntry entry(progress_, RankState::kSending, peer_, bytes.size(), where);
  while (!bytes.empty()) {
    const std::size_t count = send_now(bytes, 0);
    entry.advance(count, true);
    bytes = bytes.subspan(count);
  }
}

void Link::receive(std::span<std::byte> bytes, const std::source_location& where) {
  ProgressEntry entry(progress_, RankState::kReceiving, peer_, bytes.size(), where);
  while (!bytes.empty()) {
    const std::size_t count = receive_now(bytes, 0);
    entry.advance(count, false);
    bytes = bytes.subspan(count);
  }
}

std::size_t Link::send_some(std::span<const std::byte> bytes, const std::source_location& where) {
  if (bytes.empty()) return 0;
  ProgressEntry entry(progress_, RankState::kSending, peer_, bytes.size(), where);
  const std::size_t count = send_now(bytes, 0);
  entry.advance(count, true);
  return count;
}

std::size_t Link::receive_some(std::span<std::byte> bytes, const std::source_location& where) {
  // Reads after the end are not progress: a loop of them is reported as one.
  if (bytes.empty() || has_ended_) return 0;
  ProgressEntry entry(progress_, RankState::kReceiving, peer_, bytes.size(), where);
  const std::span<std::byte> part = at_most(bytes, options_.most_at_once);
  while (true) {
    const ssize_t count = ::recv(fd_.get(), part.data(), part.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw IoError(concat("receiving from rank ", peer_), errno);
    has_ended_ = count == 0;
    entry.advance(static_cast<std::size_t>(count), false);
    return static_cast<std::size_t>(count);
  }
}

void exchange(Link& to, std::span<const float> outgoing, Link& from, std::span<float> incoming,
              const std::source_location& where) {
  std::span<const std::byte> out = std::as_bytes(outgoing);
  std::span<std::byte> in = std::as_writable_bytes(incoming);
  const std::size_t out_bytes = out.size(), in_bytes = in.size();
  if (!out.empty()) require_connection(to.fd_, to.peer(), "sending to");
  if (!in.empty()) require_connection(from.fd_, from.peer(), "receiving from");
  ProgressEntry entry(from.progress_, RankState::kExchanging, from.peer(), out.size() + in.size(), where, "exchange");
  while (!out.empty() || !in.empty()) {
    // poll(2) ignores a descriptor of -1.
    std::array<pollfd, 2> events = {pollfd{out.empty() ? -1 : to.fd_.get(), POLLOUT, 0},
                                    pollfd{in.empty() ? -1 : from.fd_.get(), POLLIN, 0}};
    if (::poll(events.data(), events.size(), -1) < 0 && errno != EINTR) throw IoError("waiting for ranks", errno);
    if (events[0].revents != 0) {
      const std::size_t count = to.send_now(out, MSG_DONTWAIT);
      entry.advance(count, true);
      out = out.subspan(count);
      if (out.empty()) enter_rest(from.progress_, kRestReceives, from.peer(), in_bytes, in.size());
    }
    if (events[1].revents != 0) {
      const std::size_t count = from.receive_now(in, MSG_DONTWAIT);
      entry.advance(count, false);
      in = in.subspan(count);
      if (in.empty() && !out.empty()) enter_rest(from.progress_, kRestSends, to.peer(), out_bytes, out.size());
    }
  }
}

}  // namespace lockstep::exercise
