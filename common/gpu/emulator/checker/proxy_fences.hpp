#pragma once
/// @file
/// The fences after which copies and tensor cores see what threads wrote (fence.proxy.async).
#include <cstdint>
#include <vector>

#include "emulator/checker/access.hpp"

namespace lockstep::emulator::checker {

/// The last fence of each thread of a block. Those of earlier blocks are in earlier intervals than any write of this
/// one, so nothing needs to be reset.
class ProxyFences {
 public:
  /// @param now  An access that the fencing thread could make now; its later writes must get a later clock.
  void add(const Access& now) { last_[now.thread()] = now; }
  /// True if a fence lies between a write of this block and now: of the writer, or of `reader` in a later interval.
  [[nodiscard]] bool cover(const Access& write, std::uint32_t reader) const noexcept {
    const Access& fence = last_[write.thread()];
    if (write.interval < fence.interval || write.interval < last_[reader].interval) return true;
    return write.interval == fence.interval && write.clock <= fence.clock;
  }

 private:
  std::vector<Access> last_ = std::vector<Access>(1024);
};

}  // namespace lockstep::emulator::checker
