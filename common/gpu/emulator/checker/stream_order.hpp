#pragma once
/// @file
/// Order between streams: which launches an operation of a stream neither follows nor precedes.
#include <cstddef>
#include <deque>
#include <vector>

#include "emulator/checker/access.hpp"
#include "emulator/checker/stream_operation.hpp"

namespace lockstep::emulator::checker {

/// Intervals of a launch.
struct LaunchSpan {
  Interval first = 0;
  Interval last = 0;
  [[nodiscard]] bool contains(Interval interval) const noexcept { return interval >= first && interval <= last; }
};

/// The process's latest launches. Thread safety: none; guarded by the checker's lock.
class StreamOrder {
 public:
  /// Earlier launches count as ordered before everything.
  static constexpr std::size_t kLaunches = 1024;

  /// Records a launch that begins. @param first  Its first interval.
  void launch_begin(const StreamOperation& launch, Interval first);
  /// It has ended. @param last  Its last interval.
  void launch_end(Interval last) { launches_.back().span.last = last; }

  /// The recorded launches of the same device that the operation does not follow, oldest first. (Devices share the
  /// emulator's copy of a __device__ variable, but not their own.)
  [[nodiscard]] std::vector<LaunchSpan> unordered_with(const RunningOperation& running) const;
  /// The launch that has begun and not ended; null if there is none.
  [[nodiscard]] const StreamOperation* running() const;
  /// The recorded launch that contains the interval; null if there is none.
  [[nodiscard]] const StreamOperation* launch_of(Interval interval) const;

 private:
  struct Launch {
    LaunchSpan span;
    StreamOperation operation;
  };
  std::deque<Launch> launches_;  // in the order they ran
};

}  // namespace lockstep::emulator::checker
