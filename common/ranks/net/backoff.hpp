#pragma once
// Pauses between attempts to connect or to resolve a name. Internal to this module.
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

}  // namespace lockstep::net
