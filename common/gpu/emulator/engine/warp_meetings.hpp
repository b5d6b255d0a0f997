#pragma once
/// @file
/// Lanes of a warp that wait for one another.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "emulator/engine/execution.hpp"
#include "emulator/engine/warp_meeting.hpp"

namespace lockstep::emulator {

/// Matches the waiting lanes of each warp of a block. A meeting is identified by operation, mask and width: lanes that
/// differ in any of these never meet. The last lane to arrive computes all results while the others' values are still
/// on their stacks.
///
/// A lane's arguments must stay in place until the lane has met the others.
class WarpMeetings {
 public:
  /// Starts anew: no lane waits, and every lane that has a thread is live.
  void begin_block(std::uint32_t thread_count);

  /// Adds a lane that has arrived. @param bytes  Size of `call.value`. @return  If this was the last lane: all lanes
  /// that have met, whose calls now hold the results. Otherwise 0: the lane must wait.
  std::uint32_t join(const ThreadState& lane, const WarpOperation& operation, std::uint32_t mask, std::size_t bytes,
                     LaneCall& call);
  /// Call when a lane has ended: nobody waits for it any more.
  void end_lane(const ThreadState& lane) noexcept { warps_[lane.warp].live &= ~(1U << lane.lane); }
  /// Completes a meeting in which only ended lanes are missing. @return  As join(); 0 if there is none (left).
  std::uint32_t join_without_ended(std::uint32_t warp) {
    return warps_[warp].group_count == 0 ? 0 : finish_complete(warps_[warp]);
  }

  /// Adds a lane that waits for the result of __activemask.
  void ask_active_mask(const ThreadState& lane, LaneCall& call) noexcept;
  /// Writes the results of all lanes of a warp that wait in __activemask. Lanes at the same line count as active
  /// together, as they most likely would be on a GPU. @param threads  Those of the block. @return  The lanes answered.
  std::uint32_t answer_active_masks(std::uint32_t warp, std::span<const ThreadState> threads) noexcept;

  [[nodiscard]] std::uint32_t warp_count() const noexcept { return static_cast<std::uint32_t>(warps_.size()); }

 private:
  /// Lanes waiting in the same operation with the same mask.
  struct Group {
    const WarpOperation* operation = nullptr;
    std::size_t bytes = 0;  ///< Size of a value. Lanes with another size never meet these.
    std::uint32_t mask = 0;
    std::uint32_t arrived = 0;
  };
  struct Warp {
    std::uint32_t live = 0;             ///< Lanes that exist and have not ended.
    std::uint32_t asking = 0;           ///< Lanes in __activemask.
    std::uint32_t group_count = 0;      ///< Of `groups`.
    std::array<Group, 32> groups;       ///< A lane waits in at most one of them.
    std::array<LaneCall*, 32> calls{};  ///< Arguments of the waiting lanes.
  };
  static Group& find_group(Warp& warp, const WarpOperation& operation, std::uint32_t mask, std::size_t bytes);
  static std::uint32_t finish(Warp& warp, Group& group);
  static std::uint32_t finish_complete(Warp& warp);

  std::vector<Warp> warps_;
};

}  // namespace lockstep::emulator
