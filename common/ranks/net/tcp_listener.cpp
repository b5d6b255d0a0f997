#include "net/tcp_listener.hpp"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/error.hpp"
#include "net/interfaces.hpp"
#include "net/resolve.hpp"

namespace lockstep::net {
namespace {

// For looking up this machine's own name, which is slow only if something is wrong.
constexpr std::chrono::seconds kLookupLimit{10};
constexpr int kMostLostAtOnce = 16;  // then the caller serves other connections first

UniqueFd bind_and_listen(const addrinfo& candidate, const SocketAddress& address) {
  UniqueFd fd(::socket(candidate.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) throw IoError("socket", errno);
  if (is_wildcard(address.host)) {  // "::" also accepts IPv4, regardless of the system's default
    const int off = 0;
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  const int on = 1;  // allows a port in TIME_WAIT from an earlier job
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (::bind(fd.get(), candidate.ai_addr, candidate.ai_addrlen) != 0 || ::listen(fd.get(), kBacklog) != 0) {
    const int error = errno;
    const bool is_elsewhere = error == EADDRNOTAVAIL;
    throw IoError(concat("cannot listen on ", address.text(),
                         is_elsewhere ? concat(" (this host has ", describe(interface_addresses()), ")") : ""),
                  error);
  }
  return fd;
}

// accept(2) reports errors that a connection had in the queue: the listener is unaffected, and the next connection may
// be an honest rank's.
bool is_of_one_connection(int error) {
  constexpr std::array kErrors = {EINTR,  ECONNABORTED, EPROTO,     ENETDOWN,    ENOPROTOOPT, EHOSTDOWN,
                                  ENONET, EHOSTUNREACH, EOPNOTSUPP, ENETUNREACH, ETIMEDOUT,   EPERM};
  return std::ranges::find(kErrors, error) != kErrors.end();
}

}  // namespace

TcpListener::TcpListener(const SocketAddress& address) {
  const AddressList candidates = resolve(address, Deadline::after(kLookupLimit));
  for (const addrinfo* candidate = candidates.get(); !fd_.is_open(); candidate = candidate->ai_next) {
    try {
      fd_ = bind_and_listen(*candidate, address);
    } catch (const IoError&) {
      if (candidate->ai_next == nullptr) throw;  // a name may have an address of a protocol that is disabled here
    }
  }
  sockaddr_storage raw{};
  socklen_t raw_bytes = sizeof raw;
  if (::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&raw), &raw_bytes) != 0) {
    throw IoError(address.text(), errno);
  }
  address_ = to_address(raw, raw_bytes);
}

StreamSocket TcpListener::accept(const Deadline& deadline) {
  for (;;) {
    if (auto socket = try_accept()) return std::move(*socket);
    pollfd entry{fd_.get(), POLLIN, 0};
    if (::poll(&entry, 1, deadline.poll_timeout_ms()) < 0 && errno != EINTR) throw IoError("poll", errno);
    if (entry.revents == 0 && deadline.has_expired()) {
      throw TimeoutError(concat("nobody connected to ", address_.text(), " for ", format_seconds(deadline.waited())));
    }
  }
}

std::optional<StreamSocket> TcpListener::try_accept() {
  for (int lost = 0; lost < kMostLostAtOnce; ++lost) {
    sockaddr_storage raw{};
    socklen_t raw_bytes = sizeof raw;
    UniqueFd fd(::accept4(fd_.get(), reinterpret_cast<sockaddr*>(&raw), &raw_bytes, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd.is_open()) return StreamSocket(std::move(fd), to_address(raw, raw_bytes).text());
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::nullopt;
    if (!is_of_one_connection(errno)) throw IoError(concat("accepting on ", address_.text()), errno);
  }
  return std::nullopt;
}

}  // namespace lockstep::net
