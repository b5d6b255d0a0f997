#include "net/stream_socket.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/error.hpp"
#include "net/resolve.hpp"
#include "net/silence.hpp"

namespace lockstep::net {
namespace {

// After this, a name is looked up again.
constexpr std::chrono::seconds kNameIsGoodFor{10};

bool wait_for(int fd, short events, const Deadline& deadline) {
  pollfd entry{fd, events, 0};
  for (;;) {
    const int ready = ::poll(&entry, 1, deadline.poll_timeout_ms());
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) throw IoError("poll", errno);
    if (deadline.has_expired()) return false;
  }
}

// True if no network lies between the ends: different hosts or network namespaces have different addresses.
bool are_within_host(int fd) {
  const auto ends = ends_of(fd);
  return ends &&
         (ends->local.host == ends->remote.host || (is_loopback(ends->local.host) && is_loopback(ends->remote.host)));
}

// A connection within one host cannot be congested, yet congestion control still costs: BBR, the default on some hosts,
// sends by a timer, which interrupts about every 128 KiB and halves the bandwidth. Reno sends at once; every kernel has
// it, and every user may choose it. If the kernel refuses, nothing changes.
void do_not_pace(int fd) {
  constexpr std::string_view kReno = "reno";
  ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, kReno.data(), kReno.size());
}

// A host that loses power does not announce it. After a minute of silence the kernel probes the connection six times,
// ten seconds apart. The probes also keep routers with connection tables from dropping it.
void keep_alive(int fd) {
  const auto set = [fd](int level, int option, int value) { ::setsockopt(fd, level, option, &value, sizeof value); };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 60);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(IPPROTO_TCP, TCP_KEEPCNT, 6);
}

}  // namespace

StreamSocket::StreamSocket(UniqueFd fd, std::string peer) : fd_(std::move(fd)), peer_(std::move(peer)) {
  const int flags = ::fcntl(fd_.get(), F_GETFL);
  if (flags < 0 || ::fcntl(fd_.get(), F_SETFL, flags | O_NONBLOCK) != 0) throw IoError(peer_, errno);
  const int on = 1;  // frames are written whole, so delaying them to collect more bytes only adds latency
  ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  keep_alive(fd_.get());
  is_within_host_ = are_within_host(fd_.get());
  if (is_within_host_) do_not_pace(fd_.get());
}

StreamSocket StreamSocket::connect(const SocketAddress& address, const Deadline& deadline) {
  for (;;) {
    const AddressList candidates = resolve_until_known(address, deadline);
    const bool is_last = is_number(address.host) || deadline.remaining() <= kNameIsGoodFor;
    try {
      const Deadline round = is_last ? deadline : Deadline::after(kNameIsGoodFor);
      return {connect_to_any(*candidates, address.text(), round), address.text()};
    } catch (const TimeoutError&) {
      if (is_last) throw;  // otherwise the host may have come back with another address
    }
  }
}

void StreamSocket::set_user_timeout(std::chrono::milliseconds limit) noexcept {
  const auto milliseconds = static_cast<unsigned>(std::clamp<std::int64_t>(limit.count(), 1, INT_MAX));
  ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds);
}

SocketAddress StreamSocket::local_address() const {
  sockaddr_storage raw{};
  socklen_t raw_bytes = sizeof raw;
  if (::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&raw), &raw_bytes) != 0) throw IoError(peer_, errno);
  return to_address(raw, raw_bytes);
}

std::optional<SocketAddress> StreamSocket::remote_address() const {
  const auto ends = ends_of(fd_.get());
  return ends ? std::optional(ends->remote) : std::nullopt;
}

std::size_t StreamSocket::send_some(std::span<const std::byte> header, std::span<const std::byte> payload) {
  // iovec is not const-correct; sendmsg only reads.
  std::array<iovec, 2> parts{{{const_cast<std::byte*>(header.data()), header.size()},
                              {const_cast<std::byte*>(payload.data()), payload.size()}}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  for (;;) {
    const ssize_t sent = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
    if (sent >= 0) return static_cast<std::size_t>(sent);
    if (errno == EAGAIN || errno == EWOULDBLOCK) return 0;
    if (errno != EINTR) throw IoError(concat("sending to ", peer_), errno);
  }
}

std::size_t StreamSocket::receive_some(std::span<std::byte> header, std::span<std::byte> payload) {
  if (header.empty() && payload.empty()) return 0;
  std::array<iovec, 2> parts{{{header.data(), header.size()}, {payload.data(), payload.size()}}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  for (;;) {
    const ssize_t received = ::recvmsg(fd_.get(), &message, 0);
    if (received > 0) return static_cast<std::size_t>(received);
    if (received == 0) throw IoError(concat(peer_, " closed the connection"));
    if (errno == EAGAIN || errno == EWOULDBLOCK) return 0;
    if (errno != EINTR) throw IoError(concat("receiving from ", peer_), errno);
  }
}

void StreamSocket::send_all(std::span<const std::byte> header, std::span<const std::byte> payload,
                            const Deadline& deadline) {
  const std::size_t total = header.size() + payload.size();
  std::size_t sent = 0;
  const auto amounts = [&] { return concat(" (", sent, " of ", total, " bytes sent)"); };
  try {
    while (sent < total) {
      const std::size_t of_header = std::min(sent, header.size());
      const std::size_t count = send_some(header.subspan(of_header), payload.subspan(sent - of_header));
      sent += count;
      if (count > 0) {
        if (sent == total || !deadline.has_expired()) continue;
        const std::string waited = format_seconds(deadline.waited());
        throw TimeoutError(concat(peer_, " did not take all data within ", waited, amounts()));
      }
      const auto idle_since = Deadline::Clock::now();
      if (wait_writable(deadline)) continue;
      throw TimeoutError(concat(peer_, " took no data for ", format_silence(idle_since, deadline), amounts()));
    }
  } catch (const IoError& error) {
    throw IoError(concat(error.what(), amounts()));
  }
}

void StreamSocket::receive_exactly(std::span<std::byte> bytes, const Deadline& deadline) {
  std::size_t received = 0;
  const auto amounts = [&] { return concat(" (", received, " of ", bytes.size(), " bytes received)"); };
  try {
    while (received < bytes.size()) {
      const std::size_t count = receive_some(bytes.subspan(received));
      received += count;
      if (count > 0) {
        if (received == bytes.size() || !deadline.has_expired()) continue;
        const std::string waited = format_seconds(deadline.waited());
        throw TimeoutError(concat("the data from ", peer_, " did not all arrive within ", waited, amounts()));
      }
      const auto idle_since = Deadline::Clock::now();
      if (wait_readable(deadline)) continue;
      throw TimeoutError(concat("no data from ", peer_, " for ", format_silence(idle_since, deadline), amounts()));
    }
  } catch (const IoError& error) {
    throw IoError(concat(error.what(), amounts()));
  }
}

bool StreamSocket::wait_readable(const Deadline& deadline) const { return wait_for(fd_.get(), POLLIN, deadline); }
bool StreamSocket::wait_writable(const Deadline& deadline) const { return wait_for(fd_.get(), POLLOUT, deadline); }

void StreamSocket::shutdown() noexcept {
  if (fd_.is_open()) ::shutdown(fd_.get(), SHUT_RDWR);
}

}  // namespace lockstep::net
