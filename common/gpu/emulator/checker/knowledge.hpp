#pragma once
/// @file
/// Accesses that a thread knows to be over, because it read an atomic that another thread wrote after a fence.
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "emulator/checker/access.hpp"

namespace lockstep::emulator::checker {

/// A downward-closed set of accesses of one launch: for each block, all accesses before one of its barriers, and in the
/// interval after that barrier, the accesses of each lane of some warps up to a clock.
class Knowledge {
 public:
  /// One warp's accesses: those up to these clocks, by lane.
  struct Warp {
    std::uint32_t warp = 0;
    std::array<std::uint32_t, 32> lanes{};
  };
  /// One block's accesses.
  struct Block {
    Interval interval = 0;    ///< All its earlier intervals are known.
    std::vector<Warp> warps;  ///< Of `interval`.
  };

  /// Adds the knowledge of a thread of a block. @param block_first  The block's first interval, which identifies it.
  void add(Interval block_first, Interval interval, const Warp& warp);
  void merge(const Knowledge& other);
  [[nodiscard]] bool covers(const Access& access) const noexcept;

 private:
  std::map<Interval, Block> blocks_;  // by first interval
};

/// Adds `source` to `target`, in place if `target` has no other owner; if `target` is null, it becomes `source`.
void merge_into(std::shared_ptr<Knowledge>& target, const std::shared_ptr<Knowledge>& source);

}  // namespace lockstep::emulator::checker
