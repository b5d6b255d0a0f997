#pragma once
/// @file
/// What a thread knows to be over because it read an atomic that another thread wrote after a fence.
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "emulator/checker/access.hpp"

namespace lockstep::emulator::checker {

/// A set of accesses of one launch, closed downwards: for each block all that came before one of its barriers, and of
/// the interval after that barrier what each lane of some warps did up to a clock.
class Knowledge {
 public:
  /// What one warp did up to these clocks, by lane.
  struct Warp {
    std::uint32_t warp = 0;
    std::array<std::uint32_t, 32> lanes{};
  };
  /// What one block did.
  struct Block {
    Interval interval = 0;    ///< All of its earlier intervals are known.
    std::vector<Warp> warps;  ///< Of `interval`.
  };

  /// Adds what a thread of a block knows. @param block_first  The block's first interval: identifies it.
  void add(Interval block_first, Interval interval, const Warp& warp);
  /// Adds all that `other` holds.
  void merge(const Knowledge& other);
  /// Whether the access is in the set.
  [[nodiscard]] bool covers(const Access& access) const noexcept;

 private:
  std::map<Interval, Block> blocks_;  // by first interval
};

/// Adds `source` to `target`, in place where nobody else holds `target`; takes `source` itself where target is null.
void merge_into(std::shared_ptr<Knowledge>& target, const std::shared_ptr<Knowledge>& source);

}  // namespace lockstep::emulator::checker
