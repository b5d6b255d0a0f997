#pragma once
// Pauses between attempts to connect or to resolve a name, and their durations. Internal to this module.
#include <algorithm>
#include <chrono>
#include <random>

namespace lockstep::net {

// Doubles from `first` to `longest`. Each pause is multiplied by a random factor between 0.5 and 1.5, so that a
// thousand ranks refused together do not retry together.
class Backoff {
 public:
  Backoff(std::chrono::milliseconds first, std::chrono::milliseconds longest) : next_(first), longest_(longest) {}

  [[nodiscard]] std::chrono::nanoseconds pause() {
    const std::chrono::duration<double> jittered = next_ * std::uniform_real_distribution(0.5, 1.5)(random_);
    next_ = std::min(next_ * 2, longest_);
    return std::chrono::duration_cast<std::chrono::nanoseconds>(jittered);
  }

 private:
  std::chrono::milliseconds next_, longest_;
  std::minstd_rand random_{std::random_device{}()};
};

// How long an attempt may take: doubles from `first` to `longest`.
class AttemptLimit {
 public:
  AttemptLimit(std::chrono::nanoseconds first, std::chrono::nanoseconds longest) : limit_(first), longest_(longest) {}

  [[nodiscard]] std::chrono::nanoseconds now() const noexcept { return limit_; }
  // Call after an attempt that got no answer; a refusal is one.
  void grow() noexcept { limit_ = std::min(limit_ * 2, longest_); }

 private:
  std::chrono::nanoseconds limit_, longest_;
};

}  // namespace lockstep::net
