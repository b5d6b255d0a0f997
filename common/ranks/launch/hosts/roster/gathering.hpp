#pragma once
/// @file
/// The wait for the hosts of a generation. Internal to this module.
#include <algorithm>
#include <chrono>
#include <optional>

#include "base/deadline.hpp"

namespace lockstep::launch {

/// Decides when the present hosts form a generation, and when to give up waiting for more. Thread safety: one thread.
class Gathering {
 public:
  using Time = Deadline::Clock::time_point;
  /// Numbers of hosts and waiting times.
  struct Limits {
    int min_hosts = 1;
    int max_hosts = 1;
    std::chrono::milliseconds join{};       ///< Until the minimum number is present.
    std::chrono::milliseconds last_call{};  ///< For more hosts after that.
  };

  Gathering(Limits limits, Time now) : limits_(limits), began_(now) {}

  /// True if a generation should begin with the present hosts.
  [[nodiscard]] bool is_complete(int hosts, Time now) {
    if (hosts >= limits_.max_hosts) return true;
    if (hosts < limits_.min_hosts) {
      last_call_.reset();
      return false;
    }
    if (!last_call_) last_call_ = now + limits_.last_call;
    return now >= next_deadline();
  }
  /// Gives the hosts their whole time again.
  void begin_again(Time now) noexcept {
    began_ = now;
    last_call_.reset();
  }
  /// True if the wait for the missing hosts has timed out.
  [[nodiscard]] bool has_failed(Time now) const { return now >= began_ + limits_.join; }
  /// Time since the wait began.
  [[nodiscard]] std::chrono::nanoseconds waited(Time now) const { return now - began_; }
  /// When one of the answers above changes even if no host comes or goes.
  [[nodiscard]] Time next_deadline() const {
    const Time end = began_ + limits_.join;
    return last_call_ ? std::min(end, *last_call_) : end;
  }

 private:
  Limits limits_;
  Time began_;
  std::optional<Time> last_call_;  // when it ends; empty: fewer hosts than the minimum are present
};

}  // namespace lockstep::launch
