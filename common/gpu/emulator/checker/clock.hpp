#pragma once
/// @file
/// A vector clock: the operations of each stream that come before a point.
#include <algorithm>
#include <cstdint>
#include <map>

namespace lockstep::emulator {

/// Numbers of streams, never reused.
using StreamId = std::uint64_t;

/// For each stream, the number of its last operation known to come before. Thread safety: none.
class Clock {
 public:
  /// True if operation `sequence` of `stream` comes before.
  [[nodiscard]] bool covers(StreamId stream, std::uint64_t sequence) const {
    const auto found = last_.find(stream);
    return found != last_.end() && found->second >= sequence;
  }
  /// Adds operation `sequence` of `stream` and all before it.
  void raise(StreamId stream, std::uint64_t sequence) {
    std::uint64_t& last = last_[stream];
    last = std::max(last, sequence);
  }
  /// Adds everything that comes before `other`.
  void merge(const Clock& other) {
    for (const auto& [stream, sequence] : other.last_) raise(stream, sequence);
  }

 private:
  std::map<StreamId, std::uint64_t> last_;
};

}  // namespace lockstep::emulator
