#include "device/caching_allocator.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/error.hpp"
#include "base/round_up.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace lockstep {

namespace {

// AddressSanitizer sees a use after free although the pages stay mapped.
void mark_free([[maybe_unused]] std::byte* block, [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_poison_memory_region(block, bytes);
#endif
}

void mark_in_use([[maybe_unused]] std::byte* block, [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(block, bytes);
#endif
}

}  // namespace

std::size_t CachingAllocator::block_bytes(std::size_t bytes) noexcept {
  if (bytes >= kLargeBytes) return BlockPool::block_bytes(bytes);
  if (bytes <= kAlignment) return kAlignment;
  const std::size_t step = std::bit_floor(bytes) / 8;
  return round_up(bytes, std::max(step, kAlignment));
}

const std::shared_ptr<CachingAllocator>& CachingAllocator::of_host() {
  static const auto allocator = std::make_shared<CachingAllocator>();
  return allocator;
}

std::byte* CachingAllocator::allocate(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  limit_.require_possible(bytes, counted_.in_use, Device{});
  limit_.require_room(bytes, block_bytes(bytes), counted_.in_use, Device{});
  std::byte* const block = bytes < kLargeBytes ? take_small(block_bytes(bytes)) : take_large(block_bytes(bytes));
  mark_in_use(block, bytes);
  statistics_.bytes_in_use += block_bytes(bytes);
  statistics_.peak_bytes_in_use = std::max(statistics_.peak_bytes_in_use, statistics_.bytes_in_use);
  count(block_bytes(bytes));
  return block;
}

void CachingAllocator::release(std::byte* block, std::size_t bytes) noexcept {
  const std::size_t released = block_bytes(bytes);
  const std::lock_guard lock(mutex_);
  mark_free(block, released);
  statistics_.bytes_in_use -= released;
  counted_.in_use -= released;
  statistics_.bytes_cached += released;
  if (bytes < kLargeBytes)
    small_[released].push_back(block);
  else
    large_.give_back(block);
}

std::byte* CachingAllocator::take_small(std::size_t bytes) {
  std::vector<std::byte*>& blocks = small_[bytes];
  if (blocks.empty()) {
    blocks.reserve(blocks.capacity() + 8);  // release() must not allocate in the common case
    return carve(bytes);
  }
  std::byte* const block = blocks.back();
  blocks.pop_back();
  statistics_.bytes_cached -= bytes;
  return block;
}

std::byte* CachingAllocator::carve(std::size_t bytes) {
  if (chunk_used_ + bytes > kChunkBytes) {
    chunks_.emplace_back(kChunkBytes);
    mark_free(chunks_.back().data(), kChunkBytes);
    chunk_used_ = 0;
    ++statistics_.system_allocations;
  }
  std::byte* const block = chunks_.back().data() + chunk_used_;
  chunk_used_ += bytes;
  return block;
}

std::byte* CachingAllocator::take_large(std::size_t bytes) {
  const BlockPool::Taken taken = large_.take(bytes);
  statistics_.bytes_cached -= bytes;
  if (taken.bytes_mapped == 0) return taken.block;
  mark_free(taken.block, taken.bytes_mapped);
  statistics_.bytes_cached += taken.bytes_mapped;
  ++statistics_.system_allocations;
  return taken.block;
}

void CachingAllocator::count(std::size_t bytes) noexcept {
  counted_.in_use += bytes;
  counted_.peak = std::max(counted_.peak, counted_.in_use);
}

void CachingAllocator::set_limit(MemoryLimit limit) {
  const std::lock_guard lock(mutex_);
  limit_ = std::move(limit);
}

void CachingAllocator::count_registered(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  limit_.require_room(bytes, bytes, counted_.in_use, Device{});
  counted_.registered += bytes;
  count(bytes);
}

void CachingAllocator::forget_registered(std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  counted_.registered -= bytes;
  counted_.in_use -= bytes;
}

CountedMemory CachingAllocator::counted() const {
  const std::lock_guard lock(mutex_);
  return counted_;
}

AllocatorStatistics CachingAllocator::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

void CachingAllocator::reset_peak() {
  const std::lock_guard lock(mutex_);
  statistics_.peak_bytes_in_use = statistics_.bytes_in_use;
  counted_.peak = counted_.in_use;
}

void CachingAllocator::release_cached() {
  const std::lock_guard lock(mutex_);
  statistics_.bytes_cached -= large_.release_unused();
}

}  // namespace lockstep
