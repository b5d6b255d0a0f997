#include "net/resolve.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <future>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "net/backoff.hpp"

namespace lockstep::net {
namespace {

using namespace std::chrono_literals;

// Shorter waits for a name are not reported.
constexpr auto kQuietLookups = 3s;

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

std::future<Found> begin_lookup(const SocketAddress& address, Lookup lookup) {
  std::promise<Found> promise;
  std::future<Found> answer = promise.get_future();
  std::thread([promise = std::move(promise), address, lookup]() mutable {
    try {
      promise.set_value(look_up(address, 0, lookup));
    } catch (...) {
      promise.set_exception(std::current_exception());
    }
  }).detach();
  return answer;
}

// Lookups whose callers have given up. The next caller waits for them instead of asking anew: somebody who tries again
// every few hundred milliseconds would never hear a name server that takes longer, and leak a thread each time.
class AbandonedLookups {
 public:
  static AbandonedLookups& instance() {
    static AbandonedLookups& all = *new AbandonedLookups;  // never destroyed: threads may still ask at the end
    return all;
  }

  // Not valid if there is none.
  [[nodiscard]] std::future<Found> take(const SocketAddress& address, Lookup lookup) {
    const std::scoped_lock lock(mutex_);
    auto entry = answers_.extract({address.host, address.port, lookup});
    return entry ? std::move(entry.mapped()) : std::future<Found>();
  }
  void keep(const SocketAddress& address, Lookup lookup, std::future<Found> answer) {
    const std::scoped_lock lock(mutex_);
    answers_.insert_or_assign({address.host, address.port, lookup}, std::move(answer));
  }

 private:
  std::mutex mutex_;
  std::map<std::tuple<std::string, int, Lookup>, std::future<Found>> answers_;
};

Found look_up_by(const SocketAddress& address, const Deadline& deadline, Lookup lookup) {
  std::future<Found> answer = AbandonedLookups::instance().take(address, lookup);
  if (!answer.valid()) answer = begin_lookup(address, lookup);
  if (!deadline.is_never() && answer.wait_until(deadline.when()) != std::future_status::ready) {
    AbandonedLookups::instance().keep(address, lookup, std::move(answer));
    throw TimeoutError(concat("looking up host '", address.host, "': no answer for ", format_seconds(deadline.waited()),
                              "; is its name server reachable? A number needs none"));
  }
  return answer.get();
}

// The IPv4 address in an IPv4-mapped one, ::ffff:a.b.c.d.
std::optional<sockaddr_storage> unmapped(const sockaddr_storage& raw) {
  const auto& from = reinterpret_cast<const sockaddr_in6&>(raw);
  if (raw.ss_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&from.sin6_addr)) return std::nullopt;
  sockaddr_storage result{};
  auto& to = reinterpret_cast<sockaddr_in&>(result);
  to.sin_family = AF_INET;
  to.sin_port = from.sin6_port;
  std::memcpy(&to.sin_addr, &from.sin6_addr.s6_addr[12], sizeof to.sin_addr);  // the last 4 of 16 bytes
  return result;
}

}  // namespace

AddressList resolve(const SocketAddress& address, const Deadline& deadline, Lookup lookup) {
  Found found = look_up(address, AI_NUMERICHOST, lookup);
  if (found.status == EAI_NONAME) found = look_up_by(address, deadline, lookup);
  if (found.status != 0) throw IoError(concat("host '", address.host, "' is unknown: ", ::gai_strerror(found.status)));
  return std::move(found.addresses);
}

AddressList resolve_until_known(const SocketAddress& address, const Deadline& deadline, Lookup lookup) {
  Backoff backoff(50ms, 2000ms);
  const auto report = Deadline::after(kQuietLookups);
  for (bool is_reported = false;;) {
    std::string reason;
    try {
      return resolve(address, deadline, lookup);
    } catch (const IoError& error) {
      reason = error.what();
    }
    std::this_thread::sleep_for(std::min(backoff.pause(), deadline.remaining()));
    if (deadline.has_expired()) {
      throw TimeoutError(concat(reason, ", tried for ", format_seconds(deadline.waited())));
    }
    if (!report.has_expired() || is_reported) continue;
    Logger().warning(concat(reason, "; trying again until it is known"));
    is_reported = true;
  }
}

SocketAddress to_address(const sockaddr_storage& raw, socklen_t raw_bytes) {
  if (raw.ss_family == AF_UNIX) return {"a process of this host", 0};
  if (const auto mapped = unmapped(raw)) return to_address(*mapped, sizeof(sockaddr_in));
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  const int status = ::getnameinfo(reinterpret_cast<const sockaddr*>(&raw), raw_bytes, host.data(), host.size(),
                                   port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
  if (status != 0) return {"unknown", 0};
  return {host.data(), std::stoi(port.data())};
}

SocketAddress to_address(const addrinfo& one) {
  sockaddr_storage raw{};
  std::memcpy(&raw, one.ai_addr, one.ai_addrlen);
  return to_address(raw, one.ai_addrlen);
}

std::optional<Ends> ends_of(int fd) {
  sockaddr_storage local{}, remote{};
  socklen_t local_bytes = sizeof local, remote_bytes = sizeof remote;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&local), &local_bytes) != 0) return std::nullopt;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&remote), &remote_bytes) != 0) return std::nullopt;
  return Ends{to_address(local, local_bytes), to_address(remote, remote_bytes)};
}

}  // namespace lockstep::net
