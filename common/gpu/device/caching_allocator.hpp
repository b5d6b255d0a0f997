#pragma once
/// @file
/// The allocator behind Storage on the host. Private to the module.
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "device/block_pool.hpp"
#include "device/mapped_pages.hpp"
#include "device/memory_limit.hpp"
#include "device/storage.hpp"

namespace lockstep {

/// Keeps freed memory and hands it out again. Blocks below kLargeBytes are carved from chunks, kept by size class,
/// reused most recently freed first (likeliest to be in cache), and never returned to the system. There are eight size
/// classes per power of two, so at most an eighth of a block is unused. Larger blocks come from a BlockPool, which
/// splits and merges. Thread safety: any thread may call anything.
class CachingAllocator {
 public:
  /// Alignment of every block, in bytes: a cache line, and the widest vector.
  static constexpr std::size_t kAlignment = 64;
  /// Small blocks are carved from chunks of this size. Pages of a chunk that no block has touched take no memory.
  static constexpr std::size_t kChunkBytes = std::size_t{32} << 20;
  /// Blocks of this size and above come from the pool.
  static constexpr std::size_t kLargeBytes = std::size_t{1} << 20;

  /// This process's. Shared: a storage that outlives static destruction can still return its block.
  [[nodiscard]] static const std::shared_ptr<CachingAllocator>& of_host();

  /// The size of the block that serves `bytes`: at least `bytes`, a multiple of kAlignment.
  [[nodiscard]] static std::size_t block_bytes(std::size_t bytes) noexcept;

  /// A block of block_bytes(bytes). @throws IoError  Out of memory. @throws OutOfMemoryError  The limit is reached.
  [[nodiscard]] std::byte* allocate(std::size_t bytes);
  /// @pre `block` came from allocate(bytes).
  void release(std::byte* block, std::size_t bytes) noexcept;

  /// For set_memory_limit() and RegisteredBytes.
  void set_limit(MemoryLimit limit);
  /// @throws OutOfMemoryError  The limit is reached.
  void count_registered(std::size_t bytes);
  void forget_registered(std::size_t bytes) noexcept;

  /// For counted_memory().
  [[nodiscard]] CountedMemory counted() const;
  [[nodiscard]] AllocatorStatistics statistics() const;
  /// Sets the peaks to what is in use.
  void reset_peak();
  /// Returns the memory of large free blocks to the system.
  void release_cached();

 private:
  std::byte* take_small(std::size_t bytes);
  std::byte* carve(std::size_t bytes);
  std::byte* take_large(std::size_t bytes);
  void count(std::size_t bytes) noexcept;

  mutable std::mutex mutex_;
  std::map<std::size_t, std::vector<std::byte*>> small_;  // free, by block size
  BlockPool large_;
  std::vector<MappedPages> chunks_;
  std::size_t chunk_used_ = kChunkBytes;  // of chunks_.back()
  AllocatorStatistics statistics_;
  CountedMemory counted_;
  MemoryLimit limit_;
};

}  // namespace lockstep
