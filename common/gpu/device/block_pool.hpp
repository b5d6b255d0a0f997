#pragma once
/// @file
/// Large blocks of host memory, cut from mapped pages and joined again. Private to the module.
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "device/mapped_pages.hpp"

namespace lockstep {

/// Hands out blocks by best fit: the smallest free range that holds the request, cut to size; what comes back is joined
/// with its free neighbours. So the buffers of one phase of a step take the place of those of another, whatever their
/// sizes are. Not thread-safe.
class BlockPool {
 public:
  /// Blocks are multiples of it, in bytes.
  static constexpr std::size_t kGranularity = std::size_t{64} << 10;
  /// Pages are mapped at least so many at a time, in bytes; those that no block has touched take no memory.
  static constexpr std::size_t kSegmentBytes = std::size_t{32} << 20;

  /// The size of the block that serves `bytes`.
  [[nodiscard]] static std::size_t block_bytes(std::size_t bytes) noexcept;

  /// A block, and how much was asked from the system to have it (then the block is the beginning of that).
  struct Taken {
    std::byte* block;          ///< 64 KiB or more, aligned to kGranularity.
    std::size_t bytes_mapped;  ///< 0: none.
  };
  /// A block of block_bytes(bytes). @throws IoError  Out of memory.
  [[nodiscard]] Taken take(std::size_t bytes);
  /// Takes back what take() returned.
  void give_back(std::byte* block);
  /// Unmaps the segments that no block lies in, and gives the memory of the other free ranges back.
  /// @return  How many bytes were unmapped.
  std::size_t release_unused();

 private:
  // A range of a segment, free or handed out. The ranges of a segment follow each other without gaps.
  struct Range {
    std::size_t bytes;
    const std::byte* segment;  // where its segment begins: neighbours in memory may belong to different ones
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
