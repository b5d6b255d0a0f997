#include "emulator/checker/stream_order.hpp"

#include <algorithm>
#include <limits>

namespace lockstep::emulator::checker {
namespace {

constexpr Interval kRunning = std::numeric_limits<Interval>::max();  // as the last interval

}  // namespace

void StreamOrder::launch_begin(const StreamOperation& launch, Interval first) {
  if (launches_.size() == kLaunches) launches_.pop_front();
  launches_.push_back({{first, kRunning}, launch});
}

std::vector<LaunchSpan> StreamOrder::unordered_with(const RunningOperation& running) const {
  std::vector<LaunchSpan> spans;
  for (const Launch& launch : launches_) {
    const StreamOperation& earlier = launch.operation;
    if (earlier.device != running.operation.device || earlier.stream == running.operation.stream ||
        running.before.covers(earlier.stream, earlier.sequence))
      continue;
    spans.push_back(launch.span);
  }
  return spans;
}

const StreamOperation* StreamOrder::running() const {
  const bool is_running = !launches_.empty() && launches_.back().span.last == kRunning;
  return is_running ? &launches_.back().operation : nullptr;
}

const StreamOperation* StreamOrder::launch_of(Interval interval) const {
  const auto found = std::ranges::find_if(launches_, [&](const Launch& one) { return one.span.contains(interval); });
  return found == launches_.end() ? nullptr : &found->operation;
}

}  // namespace lockstep::emulator::checker
