#pragma once
/// @file
/// A job's token, a listener of the job, and a rank that may connect to it.
#include <chrono>
#include <future>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "net/guarded_listener.hpp"
#include "net/handshake.hpp"
#include "support/soon.hpp"

namespace lockstep::test {

inline const std::string kToken = "0123456789abcdef0123456789abcdef";
inline constexpr net::Identity kExpected{net::Role::kCollective, 4, -1, 0};  ///< The terms of the listener.
inline constexpr net::Identity kRank2{net::Role::kCollective, 4, 2, 77};

/// Rank 2 connects, in a thread of its own.
[[nodiscard]] inline std::future<net::StreamSocket> connect_rank_2(const net::SocketAddress& listener) {
  return std::async(std::launch::async,
                    [=] { return net::connect_authenticated(listener, kToken, kRank2, "rank 0", soon()); });
}

/// Lets the listener answer, in a thread of its own, until it lets somebody in or the result is destroyed.
[[nodiscard]] inline std::jthread accept_one(net::GuardedListener& listener) {
  return std::jthread([&listener](const std::stop_token& stop) {
    for (bool has_accepted = false; !has_accepted && !stop.stop_requested();) {
      try {
        (void)listener.accept(Deadline::after(std::chrono::milliseconds(20)));
        has_accepted = true;
      } catch (const TimeoutError&) {
      }
    }
  });
}

/// Lets the listener work until it has refused somebody.
inline void await_refusal(net::GuardedListener& listener) {
  for (const Deadline limit = soon(); listener.refused_count() == 0 && !limit.has_expired();) (void)listener.advance();
}

}  // namespace lockstep::test
