#pragma once
/// @file
/// Order between the accesses of a kernel's threads, from block barriers, warp collectives, launch order, and atomics
/// after a fence.
#include <cstdint>
#include <limits>
#include <memory>
#include <unordered_map>
#include <vector>

#include "emulator/checker/access.hpp"
#include "emulator/checker/knowledge.hpp"
#include "emulator/checker/stream_order.hpp"
#include "emulator/checker/warp_clocks.hpp"

namespace lockstep::emulator::checker {

/// The running launch, and the earlier ones of other streams that nothing orders before it.
struct LaunchOrder {
  Interval first = kHostInterval;          ///< Of this launch.
  std::vector<LaunchSpan> unordered = {};  ///< Oldest first.

  /// Everything before this interval is ordered before this launch.
  [[nodiscard]] Interval ordered_from() const noexcept { return unordered.empty() ? first : unordered.front().first; }
  /// True if the interval is of an unordered launch.
  [[nodiscard]] bool is_unordered(Interval interval) const noexcept;
};

/// How many intervals are left. From kHalf on, the owner of the recorded accesses must forget their order and begin
/// again with a new HappensBefore before the next launch. After kNone nothing more of the launch can be ordered.
enum class IntervalsLeft { kMost, kHalf, kNone };

/// Clocks of the running block. Barriers order by interval; inside an interval each thread keeps a vector clock of the
/// 32 lanes of its warp, because only collectives of its warp and atomics can order anything there. Clocks of different
/// intervals are never compared, so each interval starts them anew. If one reaches the last number, the interval ends
/// as at a barrier: nothing ordered is taken for a race.
///
/// Thread safety: none; only the thread that runs the kernel calls.
class HappensBefore {
 public:
  /// Tests choose smaller numbers.
  explicit HappensBefore(std::uint32_t last_clock = std::numeric_limits<std::uint32_t>::max(),
                         Interval last_interval = kLastInterval)
      : clocks_(last_clock), last_interval_(last_interval) {}

  /// Orders everything that follows after everything before, except these launches of other streams.
  /// @param unordered  Oldest first.
  void launch_begin(std::vector<LaunchSpan> unordered = {});
  /// @param block  Rank in the grid. @param thread_count  At most 1024.
  void block_begin(std::uint64_t block, std::uint32_t thread_count);
  /// All threads of the block met.
  void barrier();
  /// The lanes of `mask` met.
  void warp_met(std::uint32_t warp, std::uint32_t mask);
  /// Lets the thread's next atomics publish its accesses so far and its knowledge.
  void fence(std::uint32_t thread, bool is_whole_device);
  /// True if the thread, or one that it has met since, has made a device-wide fence.
  [[nodiscard]] bool has_device_fence(std::uint32_t thread) const noexcept { return device_fence_[thread] != nullptr; }
  /// An atomic on `address`: acquires the knowledge published there, publishes everything that the thread's last fence
  /// covers.
  void atomic(std::uint32_t thread, const void* address);

  /// Publishes at `object`, without a fence, what the thread has done and knows.
  void release(std::uint32_t thread, const void* object);
  /// Acquires what has been published at `object`.
  void acquire(std::uint32_t thread, const void* object);
  /// Describes an access that the thread makes now.
  [[nodiscard]] Access now(std::uint32_t thread, Site site, std::uint64_t flags) const noexcept {
    return Access::make(interval_, clocks_.of(thread), site, flags, thread);
  }
  /// True if `before` is ordered before the thread's current access.
  /// @param alive_from  Accesses of earlier intervals are over: block_first() for shared memory, else
  ///                    launch().ordered_from().
  [[nodiscard]] bool is_ordered(const Access& before, std::uint32_t thread, Interval alive_from) const noexcept {
    if (before.interval < alive_from) return true;
    if (before.interval < launch_.first) return !launch_.is_unordered(before.interval);
    if (before.interval >= block_first_) {
      if (before.interval < interval_ || before.thread() == thread) return true;
      if (before.thread() / 32 == thread / 32 && clocks_.is_ordered(before, thread)) return true;
    }
    return knowledge_[thread] != nullptr && knowledge_[thread]->covers(before);
  }

  /// True only if `before` is of this launch, not ordered before the thread's current access, and either of another
  /// block or, in the running interval, of another warp. Cheap.
  [[nodiscard]] bool is_distant(const Access& before, std::uint32_t thread, Interval alive_from) const noexcept {
    if (before.interval < launch_.first || before.interval < alive_from || knowledge_[thread] != nullptr) return false;
    return before.interval < block_first_ || (before.interval == interval_ && before.thread() / 32 != thread / 32);
  }

  [[nodiscard]] IntervalsLeft intervals_left() const noexcept {
    if (is_exhausted_) return IntervalsLeft::kNone;
    return interval_ > last_interval_ / 2 ? IntervalsLeft::kHalf : IntervalsLeft::kMost;
  }
  /// The running launch.
  [[nodiscard]] const LaunchOrder& launch() const noexcept { return launch_; }
  /// The running interval.
  [[nodiscard]] Interval interval() const noexcept { return interval_; }
  /// The first interval of this block.
  [[nodiscard]] Interval block_first() const noexcept { return block_first_; }
  /// The rank in the grid of this launch's block that contained the interval.
  [[nodiscard]] std::uint64_t block_of(Interval interval) const;

 private:
  struct Block {
    Interval first;
    std::uint64_t rank;
  };
  using Known = std::shared_ptr<Knowledge>;  // modified only if held by a single owner
  struct Published {
    Known device;  // after __threadfence
    Known block;   // after __threadfence_block: only for threads of the publishing block
    Interval block_first = 0;

    Known& of_block(Interval first);
  };
  void begin_interval();
  [[nodiscard]] Known seen_by(std::uint32_t thread);
  void learn(std::uint32_t thread, const Known& known);

  WarpClocks clocks_;
  Interval last_interval_;
  bool is_exhausted_ = false;
  Interval interval_ = kHostInterval;
  LaunchOrder launch_;
  Interval block_first_ = kHostInterval;
  std::uint32_t thread_count_ = 0;
  std::vector<Known> knowledge_ = std::vector<Known>(1024);     // by thread
  std::vector<Known> device_fence_ = std::vector<Known>(1024);  // covered by a thread's last fence
  std::vector<Known> block_fence_ = std::vector<Known>(1024);
  bool any_fence_ = false;                                // in this block
  bool any_knowledge_ = false;                            // in this block
  bool is_something_new_ = false;                         // a thread has knowledge that the threads it meets may lack
  std::unordered_map<const void*, Published> published_;  // of this launch
  std::vector<Block> blocks_;                             // of this launch, in the order they ran
};

}  // namespace lockstep::emulator::checker
