#pragma once
/// @file
/// The allocator behind Storage on the host. Private to the module.
#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

#include "device/block_pool.hpp"
#include "device/mapped_pages.hpp"
#include "device/storage.hpp"

namespace lockstep {

/// Keeps freed memory and hands it out again. Blocks below kLargeBytes are kept by size class, most recently freed
/// first (it is likeliest to be in cache), carved from chunks, and stay forever; size classes are eight to a power of
/// two, so at most an eighth of a block is unused. Larger ones come from a BlockPool, which cuts and joins. Thread
/// safety: any thread may call anything.
class CachingAllocator {
 public:
  /// Of every block, in bytes: a cache line, and the widest vector.
  static constexpr std::size_t kAlignment = 64;
  /// What small blocks are carved from. Pages of a chunk that no block has touched take no memory.
  static constexpr std::size_t kChunkBytes = std::size_t{32} << 20;
  /// Blocks of this size and above come from the pool.
  static constexpr std::size_t kLargeBytes = std::size_t{1} << 20;

  /// The size of the block that serves `bytes`: at least `bytes`, a multiple of kAlignment.
  [[nodiscard]] static std::size_t block_bytes(std::size_t bytes) noexcept;

  /// A block of block_bytes(bytes). @throws IoError  Out of memory.
  [[nodiscard]] std::byte* allocate(std::size_t bytes);
  /// Takes back what allocate(bytes) returned.
  void release(std::byte* block, std::size_t bytes) noexcept;

  /// What it holds now.
  [[nodiscard]] AllocatorStatistics statistics() const;
  /// Makes bytes_in_use the peak.
  void reset_peak();
  /// Gives the memory of large free blocks back to the system.
  void release_cached();

 private:
  std::byte* take_small(std::size_t bytes);
  std::byte* carve(std::size_t bytes);
  std::byte* take_large(std::size_t bytes);

  mutable std::mutex mutex_;
  std::map<std::size_t, std::vector<std::byte*>> small_;  // free, by block size
  BlockPool large_;
  std::vector<MappedPages> chunks_;
  std::size_t chunk_used_ = kChunkBytes;  // of chunks_.back()
  AllocatorStatistics statistics_;
};

}  // namespace lockstep
