#include "launch/hosts/host_retry.hpp"

#include <algorithm>

namespace lockstep::launch {
namespace {

constexpr std::chrono::milliseconds kLongestPause{30'000};

}  // namespace

void HostRetry::note_success() {
  pause_ = {};
  problem_.clear();
}

void HostRetry::schedule() {
  const bool is_first = pause_.count() == 0;
  if (is_first) last_attempt_ = Deadline::after(patience_);
  pause_ = is_first ? backoff_ : std::min(2 * pause_, kLongestPause);
  next_attempt_ = Deadline::after(pause_);
}

}  // namespace lockstep::launch
