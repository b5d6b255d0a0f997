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
#include <cstring>
#include <optional>
#include <string_view>
#include <thread>

#include "base/error.hpp"
#include "net/resolve.hpp"

namespace lockstep::net {
namespace {

using namespace std::chrono_literals;

bool wait_for(int fd, short events, const Deadline& deadline) {
  pollfd entry{fd, events, 0};
  for (;;) {
    const int ready = ::poll(&entry, 1, deadline.poll_timeout_ms());
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) throw IoError("poll", errno);
    if (deadline.has_expired()) return false;
  }
}

// Both ends of a connection.
struct Ends {
  SocketAddress local, remote;
};

std::optional<Ends> ends_of(int fd) {
  sockaddr_storage local{}, remote{};
  socklen_t local_bytes = sizeof local, remote_bytes = sizeof remote;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&local), &local_bytes) != 0) return std::nullopt;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&remote), &remote_bytes) != 0) return std::nullopt;
  return Ends{to_address(local, local_bytes), to_address(remote, remote_bytes)};
}

// Connecting to a free port of one's own ephemeral range can, by TCP's simultaneous open, connect a socket to itself.
bool is_connected_to_itself(int fd) {
  const auto ends = ends_of(fd);
  return ends && ends->local == ends->remote;
}

// Within one host there is no network that could be congested, yet congestion control still costs: BBR, the default of
// some hosts, sends by a timer, which interrupts for about every 128 KiB and costs half of the bandwidth. Reno
// sends at once; every kernel has it, and every user may choose it. Where the kernel refuses, nothing changes. Equal
// addresses are the test: each of two hosts or network namespaces has its own.
void do_not_pace_within_host(int fd) {
  const auto ends = ends_of(fd);
  if (!ends || ends->local.host != ends->remote.host) return;
  constexpr std::string_view kReno = "reno";
  ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, kReno.data(), kReno.size());
}

// One attempt at one address: 0 and an open descriptor, or an errno.
int connect_once(const addrinfo& candidate, const Deadline& deadline, UniqueFd& fd) {
  fd.reset(::socket(candidate.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) return errno;
  if (::connect(fd.get(), candidate.ai_addr, candidate.ai_addrlen) != 0) {
    if (errno != EINPROGRESS && errno != EINTR) return errno;
    if (!wait_for(fd.get(), POLLOUT, deadline)) return ETIMEDOUT;
    int error = 0;
    socklen_t error_bytes = sizeof error;
    ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &error_bytes);
    if (error != 0) return error;
  }
  return is_connected_to_itself(fd.get()) ? ECONNREFUSED : 0;
}

}  // namespace

AddressList resolve(const SocketAddress& address) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(address.port);
  const int status = ::getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found);
  if (status != 0) throw IoError(concat("host '", address.host, "' is unknown: ", ::gai_strerror(status)));
  return {found, &::freeaddrinfo};
}

SocketAddress to_address(const sockaddr_storage& raw, socklen_t raw_bytes) {
  if (raw.ss_family == AF_UNIX) return {"a process of this host", 0};
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  const int status = ::getnameinfo(reinterpret_cast<const sockaddr*>(&raw), raw_bytes, host.data(), host.size(),
                                   port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
  if (status != 0) return {"unknown", 0};
  return {host.data(), std::stoi(port.data())};
}

StreamSocket::StreamSocket(UniqueFd fd, std::string peer) : fd_(std::move(fd)), peer_(std::move(peer)) {
  const int flags = ::fcntl(fd_.get(), F_GETFL);
  if (flags < 0 || ::fcntl(fd_.get(), F_SETFL, flags | O_NONBLOCK) != 0) throw IoError(peer_, errno);
  const int on = 1;  // frames are written whole, so waiting for more bytes to send only adds latency
  ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  do_not_pace_within_host(fd_.get());
}

StreamSocket StreamSocket::connect(const SocketAddress& address, const Deadline& deadline) {
  const AddressList candidates = resolve(address);
  std::chrono::nanoseconds pause = 5ms;
  for (;;) {
    int error = ETIMEDOUT;
    for (const addrinfo* candidate = candidates.get(); candidate != nullptr; candidate = candidate->ai_next) {
      UniqueFd fd;
      error = connect_once(*candidate, deadline, fd);
      if (error == 0) return StreamSocket(std::move(fd), address.text());
    }
    if (deadline.has_expired()) {
      throw TimeoutError(concat("cannot connect to ", address.text(), ", tried for ", format_seconds(deadline.waited()),
                                ": ", std::strerror(error)));
    }
    std::this_thread::sleep_for(std::min(pause, deadline.remaining()));
    pause = std::min<std::chrono::nanoseconds>(pause * 2, 200ms);
  }
}

SocketAddress StreamSocket::local_address() const {
  sockaddr_storage raw{};
  socklen_t raw_bytes = sizeof raw;
  if (::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&raw), &raw_bytes) != 0) throw IoError(peer_, errno);
  return to_address(raw, raw_bytes);
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
  try {
    while (sent < total) {
      const std::size_t of_header = std::min(sent, header.size());
      const std::size_t count = send_some(header.subspan(of_header), payload.subspan(sent - of_header));
      sent += count;
      if (count > 0 || wait_writable(deadline)) continue;
      throw TimeoutError(concat(peer_, " took no data for ", format_seconds(deadline.waited()), " (", sent, " of ",
                                total, " bytes sent)"));
    }
  } catch (const IoError& error) {
    throw IoError(concat(error.what(), " (", sent, " of ", total, " bytes sent)"));
  }
}

void StreamSocket::receive_exactly(std::span<std::byte> bytes, const Deadline& deadline) {
  std::size_t received = 0;
  try {
    while (received < bytes.size()) {
      const std::size_t count = receive_some(bytes.subspan(received));
      received += count;
      if (count > 0 || wait_readable(deadline)) continue;
      throw TimeoutError(concat("no data from ", peer_, " for ", format_seconds(deadline.waited()), " (", received,
                                " of ", bytes.size(), " bytes received)"));
    }
  } catch (const IoError& error) {
    throw IoError(concat(error.what(), " (", received, " of ", bytes.size(), " bytes received)"));
  }
}

bool StreamSocket::wait_readable(const Deadline& deadline) const { return wait_for(fd_.get(), POLLIN, deadline); }
bool StreamSocket::wait_writable(const Deadline& deadline) const { return wait_for(fd_.get(), POLLOUT, deadline); }

void StreamSocket::shutdown() noexcept {
  if (fd_.is_open()) ::shutdown(fd_.get(), SHUT_RDWR);
}

}  // namespace lockstep::net
