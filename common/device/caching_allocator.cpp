#include "device/caching_allocator.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/error.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace lockstep {

namespace {

constexpr std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

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

// Not a multiple of a huge page: the system makes none beyond the end, so that no block takes up more than it asked
// for.
MappedPages::MappedPages(std::size_t bytes) : bytes_(round_up(bytes, CachingAllocator::kPageBytes)) {
  // One huge page more than needed, so that an aligned range lies inside; the ends go back at once.
  const std::size_t mapped_bytes = bytes_ + CachingAllocator::kHugePageBytes;
  void* const mapped = ::mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw IoError(concat("mapping ", mapped_bytes, " bytes of memory"), errno);
  auto* const begin = static_cast<std::byte*>(mapped);
  const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(begin) % CachingAllocator::kHugePageBytes;
  const std::size_t head = misaligned == 0 ? 0 : CachingAllocator::kHugePageBytes - misaligned;
  data_ = begin + head;
  if (head > 0) ::munmap(begin, head);
  ::munmap(data_ + bytes_, mapped_bytes - head - bytes_);  // never empty: head is less than the extra huge page
  ::madvise(data_, bytes_, MADV_HUGEPAGE);                 // a wish; failing costs speed only
}

MappedPages::MappedPages(MappedPages&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

MappedPages& MappedPages::operator=(MappedPages&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedPages::~MappedPages() {
  if (data_ == nullptr) return;
  mark_in_use(data_, bytes_);
  ::munmap(data_, bytes_);
}

std::size_t CachingAllocator::class_bytes(std::size_t bytes) noexcept {
  if (bytes <= kAlignment) return kAlignment;
  const std::size_t step = std::bit_floor(bytes) / 8;
  return round_up(bytes, std::max(step, kAlignment));
}

std::byte* CachingAllocator::allocate(std::size_t bytes) {
  const std::size_t block_bytes = class_bytes(bytes);
  const std::lock_guard lock(mutex_);
  std::vector<std::byte*>& blocks = free_[block_bytes];
  std::byte* block = nullptr;
  if (!blocks.empty()) {
    block = blocks.back();
    blocks.pop_back();
    statistics_.bytes_cached -= block_bytes;
  } else {
    block = block_bytes < kLargeBytes ? carve(block_bytes) : map_large(block_bytes);
    blocks.reserve(blocks.size() + 8);  // release() must not allocate in the common case
  }
  mark_in_use(block, bytes);
  statistics_.bytes_in_use += block_bytes;
  statistics_.peak_bytes_in_use = std::max(statistics_.peak_bytes_in_use, statistics_.bytes_in_use);
  return block;
}

void CachingAllocator::release(std::byte* block, std::size_t bytes) noexcept {
  const std::size_t block_bytes = class_bytes(bytes);
  const std::lock_guard lock(mutex_);
  mark_free(block, block_bytes);
  free_[block_bytes].push_back(block);
  statistics_.bytes_in_use -= block_bytes;
  statistics_.bytes_cached += block_bytes;
}

std::byte* CachingAllocator::carve(std::size_t block_bytes) {
  if (chunk_used_ + block_bytes > kChunkBytes) {
    chunks_.emplace_back(kChunkBytes);
    mark_free(chunks_.back().data(), kChunkBytes);
    chunk_used_ = 0;
    ++statistics_.system_allocations;
  }
  std::byte* const block = chunks_.back().data() + chunk_used_;
  chunk_used_ += block_bytes;
  return block;
}

std::byte* CachingAllocator::map_large(std::size_t block_bytes) {
  MappedPages pages(block_bytes);
  std::byte* const block = pages.data();
  large_.emplace(block, std::move(pages));
  ++statistics_.system_allocations;
  return block;
}

AllocatorStatistics CachingAllocator::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

void CachingAllocator::reset_peak() {
  const std::lock_guard lock(mutex_);
  statistics_.peak_bytes_in_use = statistics_.bytes_in_use;
}

void CachingAllocator::release_cached() {
  const std::lock_guard lock(mutex_);
  for (auto& [block_bytes, blocks] : free_) {
    if (block_bytes < kLargeBytes) continue;
    for (std::byte* const block : blocks) large_.erase(block);
    statistics_.bytes_cached -= block_bytes * blocks.size();
    blocks.clear();
  }
}

}  // namespace lockstep
