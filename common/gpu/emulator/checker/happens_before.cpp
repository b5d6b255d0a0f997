#include "emulator/checker/happens_before.hpp"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <utility>

namespace lockstep::emulator::checker {
namespace {

using KnownByThread = std::vector<std::shared_ptr<Knowledge>>;

// A fence by one thread counts for a later atomic of another thread if they met in between: "every thread fences,
// barrier, thread 0 counts the block as done" is correct on hardware.
void share_all(std::initializer_list<KnownByThread*> kinds, std::uint32_t first, std::uint32_t count,
               std::uint32_t mask) {
  for (KnownByThread* const held : kinds) {
    std::shared_ptr<Knowledge> all;
    for (std::uint32_t i = 0; i < count; ++i) {
      if ((mask >> (i % 32) & 1U) != 0) merge_into(all, (*held)[first + i]);
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      if ((mask >> (i % 32) & 1U) != 0) (*held)[first + i] = all;
    }
  }
}

}  // namespace

bool LaunchOrder::is_unordered(Interval interval) const noexcept {
  const auto after = std::upper_bound(unordered.begin(), unordered.end(), interval,
                                      [](Interval value, const LaunchSpan& span) { return value < span.first; });
  return after != unordered.begin() && std::prev(after)->contains(interval);
}

// The knowledge for threads of the block that begins with `first`.
HappensBefore::Known& HappensBefore::Published::of_block(Interval first) {
  if (block_first != first) block = nullptr;
  block_first = first;
  return block;
}

void HappensBefore::launch_begin(std::vector<LaunchSpan> unordered) {
  launch_ = {++interval_, std::move(unordered)};
  block_first_ = interval_;
  blocks_.clear();
  published_.clear();
}

// Starts the clocks anew: an access of an earlier interval is never compared by its clock, except with what was known
// of that interval.
void HappensBefore::begin_interval() {
  if (interval_ >= last_interval_) {
    is_exhausted_ = true;
  } else {
    ++interval_;
  }
  clocks_.start_anew(thread_count_);
}

void HappensBefore::block_begin(std::uint64_t block, std::uint32_t thread_count) {
  begin_interval();
  block_first_ = interval_;
  thread_count_ = thread_count;
  blocks_.push_back({block_first_, block});
  if (any_knowledge_) std::fill(knowledge_.begin(), knowledge_.end(), nullptr);
  if (any_fence_) {
    std::fill(device_fence_.begin(), device_fence_.end(), nullptr);
    std::fill(block_fence_.begin(), block_fence_.end(), nullptr);
  }
  any_knowledge_ = any_fence_ = is_something_new_ = false;
}

void HappensBefore::barrier() {
  begin_interval();
  if (is_something_new_) share_all({&knowledge_, &device_fence_, &block_fence_}, 0, thread_count_, ~0U);
  is_something_new_ = false;
}

void HappensBefore::warp_met(std::uint32_t warp, std::uint32_t mask) {
  const std::uint32_t first = warp * 32;
  const std::uint32_t count = std::min(32U, thread_count_ - first);
  const std::uint32_t existing = count == 32 ? ~0U : (1U << count) - 1;
  mask &= existing;
  if (clocks_.is_used_up(first, count)) begin_interval();
  if (mask == existing) {
    clocks_.meet_all(warp, count);
  } else {
    clocks_.meet_some(warp, mask);
  }
  if (is_something_new_) share_all({&knowledge_, &device_fence_, &block_fence_}, first, count, mask);
}

// The thread's accesses so far, and those that it knows of. Its later ones get a later clock.
HappensBefore::Known HappensBefore::seen_by(std::uint32_t thread) {
  if (clocks_.is_used_up(thread, 1)) begin_interval();
  const Knowledge::Warp warp{thread / 32, clocks_.seen_by(thread)};
  const auto covered = std::make_shared<Knowledge>();
  if (knowledge_[thread] != nullptr) *covered = *knowledge_[thread];
  covered->add(block_first_, interval_, warp);
  return covered;
}

void HappensBefore::fence(std::uint32_t thread, bool is_whole_device) {
  const Known covered = seen_by(thread);
  any_fence_ = is_something_new_ = true;
  block_fence_[thread] = covered;
  if (is_whole_device) device_fence_[thread] = covered;
}

void HappensBefore::learn(std::uint32_t thread, const Known& known) {
  if (known == nullptr) return;
  any_knowledge_ = is_something_new_ = true;
  merge_into(knowledge_[thread], known);
}

// Publishes before it acquires, so that only the address owns the published knowledge, which then grows in place.
void HappensBefore::atomic(std::uint32_t thread, const void* address) {
  if (any_fence_ && block_fence_[thread] != nullptr) {
    Published& published = published_[address];
    merge_into(published.device, device_fence_[thread]);
    merge_into(published.of_block(block_first_), block_fence_[thread]);
  }
  if (published_.empty()) return;
  const auto found = published_.find(address);
  if (found == published_.end()) return;
  learn(thread, found->second.device);
  if (found->second.block_first == block_first_) learn(thread, found->second.block);
}

void HappensBefore::release(std::uint32_t thread, const void* object) {
  merge_into(published_[object].of_block(block_first_), seen_by(thread));
}

void HappensBefore::acquire(std::uint32_t thread, const void* object) {
  const auto found = published_.find(object);
  if (found != published_.end() && found->second.block_first == block_first_) learn(thread, found->second.block);
}

std::uint64_t HappensBefore::block_of(Interval interval) const {
  const auto after = std::upper_bound(blocks_.begin(), blocks_.end(), interval,
                                      [](Interval value, const Block& block) { return value < block.first; });
  return after == blocks_.begin() ? 0 : std::prev(after)->rank;
}

}  // namespace lockstep::emulator::checker
