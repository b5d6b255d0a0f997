#pragma once
/// @file
/// The allocator behind Storage on the host. Private to the module.
#include <cstddef>
#include <map>
#include <mutex>
#include <vector>

#include "device/storage.hpp"

namespace lockstep {

/// Pages from the system, given back with the object.
class MappedPages {
 public:
  /// Maps `bytes` at an address aligned to a huge page, and asks for huge pages. @throws Error  Out of memory.
  explicit MappedPages(std::size_t bytes);
  /// Takes the other's pages.
  MappedPages(MappedPages&& other) noexcept;
  /// Unmaps its own pages, then takes the other's.
  MappedPages& operator=(MappedPages&& other) noexcept;
  MappedPages(const MappedPages&) = delete;
  MappedPages& operator=(const MappedPages&) = delete;
  ~MappedPages();

  /// First byte; null for none.
  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  /// Size of the mapping.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::byte* data_;
  std::size_t bytes_;
};

/// Keeps freed blocks by size class and hands them out again, most recently freed first (it is likeliest to be in
/// cache). Size classes are eight to a power of two, so at most an eighth of a block is unused. Blocks below
/// kLargeBytes are carved from chunks and stay for ever (pages of a chunk that no block has touched take no memory);
/// larger ones have pages of their own.
/// Thread safety: any thread may call anything.
class CachingAllocator {
 public:
  /// Of every block, in bytes: a cache line, and the widest vector.
  static constexpr std::size_t kAlignment = 64;
  /// Memory is asked from the system in multiples of this.
  static constexpr std::size_t kPageBytes = 4096;
  /// What is asked for begins at a multiple of this, so that the system can back it with huge pages.
  static constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;
  /// What blocks below kLargeBytes are carved from.
  static constexpr std::size_t kChunkBytes = std::size_t{32} << 20;
  /// Blocks of this size and above get pages of their own; smaller ones share them.
  static constexpr std::size_t kLargeBytes = std::size_t{8} << 20;

  /// The size of the block that serves `bytes`: at least `bytes`, a multiple of kAlignment.
  [[nodiscard]] static std::size_t class_bytes(std::size_t bytes) noexcept;

  /// A block of class_bytes(bytes). @throws Error  Out of memory, with what is in use and cached.
  [[nodiscard]] std::byte* allocate(std::size_t bytes);
  /// Takes back what allocate(bytes) returned.
  void release(std::byte* block, std::size_t bytes) noexcept;

  /// What it holds now.
  [[nodiscard]] AllocatorStatistics statistics() const;
  /// Makes bytes_in_use the peak.
  void reset_peak();
  /// Unmaps the cached large blocks.
  void release_cached();

 private:
  std::byte* carve(std::size_t block_bytes);
  std::byte* map_large(std::size_t block_bytes);

  mutable std::mutex mutex_;
  std::map<std::size_t, std::vector<std::byte*>> free_;  // by block size
  std::map<std::byte*, MappedPages> large_;              // by address
  std::vector<MappedPages> chunks_;
  std::size_t chunk_used_ = kChunkBytes;  // of chunks_.back()
  AllocatorStatistics statistics_;
};

}  // namespace lockstep
