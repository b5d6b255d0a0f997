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

/// Brings the lanes of each warp of a block together. A meeting is identified by operation, mask and width: lanes that
/// give different ones never meet. The lane that comes last computes the results of all while the others' values still
/// lie on their stacks.
///
/// What a lane brings must stay where it is until the lane has met the others.
class WarpMeetings {
 public:
  /// Nobody waits; all lanes of the block's threads are live.
  void begin_block(std::uint32_t thread_count);

  /// A lane comes. @param bytes  Of `call.value`. @return  The lanes that have met, if it was the last one: their
  /// calls hold the results. Else 0: it has to wait.
  std::uint32_t join(const ThreadState& lane, const WarpOperation& operation, std::uint32_t mask, std::size_t bytes,
                     LaneCall& call);
  /// A lane has ended: nobody waits for it any more.
  void end_lane(const ThreadState& lane) noexcept { warps_[lane.warp].live &= ~(1U << lane.lane); }
  /// The lanes of a meeting in which only ended lanes were missing, as join() returns them; 0: there is none (left).
  std::uint32_t join_without_ended(std::uint32_t warp) {
    return warps_[warp].group_count == 0 ? 0 : finish_complete(warps_[warp]);
  }

  /// A lane waits for the answer to __activemask.
  void ask_active_mask(const ThreadState& lane, LaneCall& call) noexcept;
  /// Answers all lanes of a warp that have asked, in the result of their calls: those that came to one line are what a
  /// GPU would most likely run together. @param threads  Of the block. @return  Whom it has answered.
  std::uint32_t answer_active_masks(std::uint32_t warp, std::span<const ThreadState> threads) noexcept;

  /// Of the block.
  [[nodiscard]] std::uint32_t warp_count() const noexcept { return static_cast<std::uint32_t>(warps_.size()); }

 private:
  /// Lanes that wait in the same operation with the same mask.
  struct Group {
    const WarpOperation* operation = nullptr;
    std::size_t bytes = 0;  ///< Of a value: lanes with another size do not meet these.
    std::uint32_t mask = 0;
    std::uint32_t arrived = 0;
  };
  struct Warp {
    std::uint32_t live = 0;             ///< Lanes that exist and have not ended.
    std::uint32_t asking = 0;           ///< Lanes in __activemask.
    std::uint32_t group_count = 0;      ///< Of `groups`.
    std::array<Group, 32> groups;       ///< A lane waits in one of them at most.
    std::array<LaneCall*, 32> calls{};  ///< What the waiting lanes brought.
  };
  static Group& find_group(Warp& warp, const WarpOperation& operation, std::uint32_t mask, std::size_t bytes);
  static std::uint32_t finish(Warp& warp, Group& group);
  static std::uint32_t finish_complete(Warp& warp);

  std::vector<Warp> warps_;
};

}  // namespace lockstep::emulator
