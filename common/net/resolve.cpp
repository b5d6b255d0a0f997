#include "net/resolve.hpp"

#include <netinet/in.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <future>
#include <thread>

#include "base/error.hpp"

namespace lockstep::net {
namespace {

using namespace std::chrono_literals;

// Of several addresses none may use up the time of the others, however long there is.
constexpr std::chrono::nanoseconds kLongestAttempt = 3s;

struct Found {
  int status = 0;
  AddressList addresses{nullptr, &::freeaddrinfo};
};

Found look_up(const SocketAddress& address, int flags, Lookup lookup) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* found = nullptr;
  const int status = lookup(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  return {status, {found, &::freeaddrinfo}};
}

Found look_up_by(const SocketAddress& address, const Deadline& deadline, Lookup lookup) {
  std::promise<Found> promise;
  std::future<Found> answer = promise.get_future();
  std::thread([promise = std::move(promise), address, lookup]() mutable {
    try {
      promise.set_value(look_up(address, 0, lookup));
    } catch (...) {
      promise.set_exception(std::current_exception());
    }
  }).detach();
  if (!deadline.is_never() && answer.wait_until(deadline.when()) != std::future_status::ready) {
    throw TimeoutError(concat("looking up host '", address.host, "': no answer for ", format_seconds(deadline.waited()),
                              "; is its name server reachable? A number needs none"));
  }
  return answer.get();
}

// Connecting to a free port of one's own ephemeral range can, by TCP's simultaneous open, connect a socket to itself.
bool is_connected_to_itself(int fd) {
  const auto ends = ends_of(fd);
  return ends && ends->local == ends->remote;
}

// Waits until the connection that has begun is made, or `deadline`. Returns an errno.
int finish_connecting(int fd, const Deadline& deadline) {
  pollfd entry{fd, POLLOUT, 0};
  int ready = 0;
  while ((ready = ::poll(&entry, 1, deadline.poll_timeout_ms())) <= 0) {
    if (ready < 0 && errno != EINTR) throw IoError("poll", errno);
    if (deadline.has_expired()) return ETIMEDOUT;
  }
  int error = 0;
  socklen_t error_bytes = sizeof error;
  ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &error_bytes);
  return error;
}

// One attempt at one address: 0 and an open descriptor, or an errno.
int connect_once(const addrinfo& candidate, const Deadline& deadline, UniqueFd& fd) {
  fd.reset(::socket(candidate.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.is_open()) return errno;
  if (::connect(fd.get(), candidate.ai_addr, candidate.ai_addrlen) != 0) {
    if (errno != EINPROGRESS && errno != EINTR) return errno;
    if (const int error = finish_connecting(fd.get(), deadline)) return error;
  }
  return is_connected_to_itself(fd.get()) ? ECONNREFUSED : 0;
}

std::size_t count_of(const addrinfo& candidates) {
  std::size_t count = 0;
  for (const addrinfo* candidate = &candidates; candidate != nullptr; candidate = candidate->ai_next) ++count;
  return count;
}

}  // namespace

AddressList resolve(const SocketAddress& address, const Deadline& deadline, Lookup lookup) {
  Found found = look_up(address, AI_NUMERICHOST, lookup);
  if (found.status == EAI_NONAME) found = look_up_by(address, deadline, lookup);
  if (found.status != 0) throw IoError(concat("host '", address.host, "' is unknown: ", ::gai_strerror(found.status)));
  return std::move(found.addresses);
}

UniqueFd connect_to_any(const addrinfo& candidates, const std::string& name, const Deadline& deadline) {
  const std::size_t count = count_of(candidates);
  std::chrono::nanoseconds pause = 5ms;
  for (;;) {
    int error = ETIMEDOUT;
    std::size_t left = count;
    for (const addrinfo* candidate = &candidates; candidate != nullptr; candidate = candidate->ai_next, --left) {
      const auto share = std::min(deadline.remaining() / static_cast<std::int64_t>(left), kLongestAttempt);
      UniqueFd fd;
      error = connect_once(*candidate, count == 1 ? deadline : Deadline::after(share), fd);
      if (error == 0) return fd;
    }
    if (deadline.has_expired()) {
      throw TimeoutError(concat("cannot connect to ", name, ", tried for ", format_seconds(deadline.waited()), ": ",
                                std::strerror(error)));
    }
    std::this_thread::sleep_for(std::min(pause, deadline.remaining()));
    pause = std::min<std::chrono::nanoseconds>(pause * 2, 200ms);
  }
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

std::optional<Ends> ends_of(int fd) {
  sockaddr_storage local{}, remote{};
  socklen_t local_bytes = sizeof local, remote_bytes = sizeof remote;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&local), &local_bytes) != 0) return std::nullopt;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&remote), &remote_bytes) != 0) return std::nullopt;
  return Ends{to_address(local, local_bytes), to_address(remote, remote_bytes)};
}

}  // namespace lockstep::net
