#pragma once
/// @file
/// Large blocks of host memory, cut from mapped pages and merged again when freed. Private to the module.
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "device/mapped_pages.hpp"

namespace lockstep {

/// Hands out blocks by best fit: the smallest free range that holds the request, split to size. A returned block is
/// merged with its free neighbours, so the buffers of one phase of a step can reuse the memory of another phase's,
/// whatever their sizes. Not thread-safe.
class BlockPool {
 public:
  /// Block sizes are multiples of this, in bytes.
  static constexpr std::size_t kGranularity = std::size_t{64} << 10;
  /// Minimum size of a mapping, in bytes. Pages that no block has touched take no memory.
  static constexpr std::size_t kSegmentBytes = std::size_t{32} << 20;

  [[nodiscard]] static std::size_t block_bytes(std::size_t bytes) noexcept;

  /// A block. If it took a new mapping, the block is at the beginning of that mapping.
  struct Taken {
    std::byte* block;          ///< 64 KiB or more, aligned to kGranularity.
    std::size_t bytes_mapped;  ///< 0: no new mapping.
  };
  /// A block of block_bytes(bytes). @throws IoError  Out of memory.
  [[nodiscard]] Taken take(std::size_t bytes);
  void give_back(std::byte* block);
  /// Unmaps the segments that are entirely free, and returns the memory of other free ranges to the system.
  /// @return  How many bytes were unmapped.
  std::size_t release_unused();

 private:
  // A range of a segment, free or in use. The ranges of a segment are contiguous.
  struct Range {
    std::size_t bytes;
    const std::byte* segment;  // start of its segment: adjacent ranges may belong to different segments
    bool is_free;
  };
  using Ranges = std::map<std::byte*, Range>;

  Ranges::iterator best_fit(std::size_t bytes);
  Ranges::iterator map_segment(std::size_t bytes);
  void set_free(Ranges::iterator range, bool is_free);
  void join_with_next(Ranges::iterator range);

  Ranges ranges_;                                         // by address
  std::set<std::pair<std::size_t, std::byte*>> by_size_;  // the free ones
  std::map<const std::byte*, MappedPages> segments_;      // by address
};

}  // namespace lockstep
