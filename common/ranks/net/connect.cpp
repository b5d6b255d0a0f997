// Connects to a host with several addresses by overlapping, repeated attempts.
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "net/backoff.hpp"
#include "net/resolve.hpp"

namespace lockstep::net {
namespace {

using namespace std::chrono_literals;
using Clock = Deadline::Clock;

// Delay between the first attempts at two addresses (RFC 8305, section 5).
constexpr auto kStagger = 250ms;
// Duration of the first attempt before a fresh one replaces it. After each that got no answer, the next lasts twice as
// long, up to the longest. The kernel also resends lost packets, but doubles its pauses without limit.
constexpr auto kFirstAttempt = 3s, kLongestAttempt = 60s;

// If the port is in this host's ephemeral range, TCP's simultaneous open can connect a socket to itself.
bool is_connected_to_itself(int fd) {
  const auto ends = ends_of(fd);
  return ends && ends->local == ends->remote;
}

// Repeated attempts at one address. Between attempts `fd_` is closed.
class Candidate {
 public:
  Candidate(const addrinfo& to, Clock::time_point first_attempt) : to_(&to), due_(first_attempt) {}

  [[nodiscard]] bool is_pending() const noexcept { return fd_.is_open(); }
  [[nodiscard]] bool is_untried() const noexcept { return !is_pending() && attempts_ == 0; }
  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  [[nodiscard]] UniqueFd take_fd() noexcept { return std::move(fd_); }
  // When to act even if nothing happens: the next attempt begins, or the pending one ends.
  [[nodiscard]] Clock::time_point due() const noexcept { return due_; }
  void bring_forward(Clock::time_point now) noexcept { due_ = std::min(due_, now); }

  // Each returns true once there is a connection.
  bool begin() {
    ++attempts_;
    fd_.reset(::socket(to_->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd_.is_open()) return fail(errno);
    if (::connect(fd_.get(), to_->ai_addr, to_->ai_addrlen) == 0) return accept_connection();
    if (errno != EINPROGRESS && errno != EINTR) return fail(errno);
    due_ = Clock::now() + limit_.now();
    return false;
  }
  bool finish() {
    int error = 0;
    socklen_t error_bytes = sizeof error;
    ::getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &error_bytes);
    return error == 0 ? accept_connection() : fail(error);
  }
  bool give_up() {
    limit_.grow();
    return fail(ETIMEDOUT);
  }
  // If the loopback interface is down, this host's own addresses are unreachable, and waiting does not help.
  [[nodiscard]] bool lacks_loopback() const { return error_ == ENETUNREACH && is_loopback(to_address(*to_).host); }

  // "10.0.0.9: Connection refused"
  [[nodiscard]] std::string outcome(bool is_alone) const {
    const std::string what = attempts_ == 0 ? "not tried" : std::strerror(is_pending() ? ETIMEDOUT : error_);
    return is_alone ? what : concat(to_address(*to_).host, ": ", what);
  }

 private:
  bool accept_connection() { return !is_connected_to_itself(fd_.get()) || fail(ECONNREFUSED); }
  bool fail(int error) {
    error_ = error;
    fd_.reset();
    due_ = Clock::now() + backoff_.pause();
    return false;
  }

  const addrinfo* to_;
  Clock::time_point due_;
  UniqueFd fd_;
  int attempts_ = 0;
  int error_ = 0;
  AttemptLimit limit_{kFirstAttempt, kLongestAttempt};
  Backoff backoff_{5ms, 500ms};
};

// Alternates between IPv6 and IPv4 (RFC 8305, section 4), beginning with the family that the system prefers.
std::vector<const addrinfo*> in_turns(const addrinfo& candidates) {
  std::vector<const addrinfo*> first, others, mixed;
  for (const addrinfo* each = &candidates; each != nullptr; each = each->ai_next) {
    (each->ai_family == candidates.ai_family ? first : others).push_back(each);
  }
  for (std::size_t i = 0; i < std::max(first.size(), others.size()); ++i) {
    if (i < first.size()) mixed.push_back(first[i]);
    if (i < others.size()) mixed.push_back(others[i]);
  }
  return mixed;
}

class Race {
 public:
  Race(const addrinfo& candidates, std::string name, const Deadline& deadline)
      : name_(std::move(name)), deadline_(deadline) {
    auto due = Clock::now();
    for (const addrinfo* each : in_turns(candidates)) {
      candidates_.emplace_back(*each, due);
      due += kStagger;
    }
  }

  UniqueFd run() {
    for (;;) {
      for (Candidate& candidate : candidates_) {
        if (advance(candidate)) return candidate.take_fd();
      }
      // Polls once more even after the deadline: an attempt may have succeeded at once.
      wait();
      for (Candidate& candidate : candidates_) {
        if (!is_ready(candidate)) continue;
        if (candidate.finish()) return candidate.take_fd();
        start_next(Clock::now());
      }
      if (std::ranges::all_of(candidates_, &Candidate::lacks_loopback)) {
        throw IoError(concat("cannot connect to ", name_, ": this machine's loopback interface is down; ",
                             "'ip link set lo up' starts it (a new network namespace begins without it)"),
                      ENETUNREACH);
      }
      if (deadline_.has_expired()) fail();
    }
  }

 private:
  bool advance(Candidate& candidate) {
    const auto now = Clock::now();
    if (candidate.due() > now) return false;
    if (candidate.is_pending()) return candidate.give_up();
    if (candidate.begin()) return true;
    if (!candidate.is_pending()) start_next(now);
    return false;
  }

  // An attempt that fails at once lets the next address begin.
  void start_next(Clock::time_point now) {
    const auto next = std::ranges::find_if(candidates_, &Candidate::is_untried);
    if (next != candidates_.end()) next->bring_forward(now);
  }

  void wait() {
    entries_.clear();
    auto next = deadline_.when();
    for (const Candidate& candidate : candidates_) {
      if (candidate.is_pending()) entries_.push_back({candidate.fd(), POLLOUT, 0});
      next = std::min(next, candidate.due());
    }
    const int timeout = Deadline::after(next - Clock::now()).poll_timeout_ms();
    if (::poll(entries_.data(), entries_.size(), timeout) < 0 && errno != EINTR) throw IoError("poll", errno);
  }

  [[nodiscard]] bool is_ready(const Candidate& candidate) const {
    return candidate.is_pending() && std::ranges::any_of(entries_, [&](const pollfd& entry) {
             return entry.fd == candidate.fd() && entry.revents != 0;
           });
  }

  [[noreturn]] void fail() const {
    std::string outcomes;
    for (const Candidate& candidate : candidates_) {
      outcomes += concat(outcomes.empty() ? "" : "; ", candidate.outcome(candidates_.size() == 1));
    }
    throw TimeoutError(
        concat("cannot connect to ", name_, ", tried for ", format_seconds(deadline_.waited()), ": ", outcomes));
  }

  std::string name_;
  Deadline deadline_;
  std::vector<Candidate> candidates_;
  std::vector<pollfd> entries_;
};

}  // namespace

UniqueFd connect_to_any(const addrinfo& candidates, const std::string& name, const Deadline& deadline) {
  return Race(candidates, name, deadline).run();
}

}  // namespace lockstep::net
