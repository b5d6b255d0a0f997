#pragma once
/// @file
/// Which operations of which streams come before a point: a vector clock.
#include <algorithm>
#include <cstdint>
#include <map>

namespace lockstep::emulator {

/// Numbers streams, never reused.
using StreamId = std::uint64_t;

/// For each stream the number of its last operation that is known to come before. Thread safety: none.
class Clock {
 public:
  /// Whether operation `sequence` of `stream` comes before.
  [[nodiscard]] bool covers(StreamId stream, std::uint64_t sequence) const {
    const auto found = last_.find(stream);
    return found != last_.end() && found->second >= sequence;
  }
  /// From here on operation `sequence` of `stream` and all before it come before.
  void raise(StreamId stream, std::uint64_t sequence) {
    std::uint64_t& last = last_[stream];
    last = std::max(last, sequence);
  }
  /// What comes before `other` comes before this, too.
  void merge(const Clock& other) {
    for (const auto& [stream, sequence] : other.last_) raise(stream, sequence);
  }

 private:
  std::map<StreamId, std::uint64_t> last_;
};

}  // namespace lockstep::emulator
