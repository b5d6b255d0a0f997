#pragma once
/// @file
/// Lanes of a warp that wait for one another to exchange values.
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace lockstep::emulator {

/// What a lane brings to a meeting. It lies on the lane's stack, where it stays while the lane waits.
struct LaneCall {
  void* value = nullptr;             ///< In and out; its size is the meeting's.
  std::uint32_t argument = 0;        ///< Of the operation, for example a shuffle's lane.
  std::uint32_t segment_lanes = 32;  ///< A shuffle's width.
  std::uint32_t result = 0;          ///< A lane mask or a number.
  bool reads_undefined = false;      ///< Set where the lane asked for a value that nobody brought.
};

/// Everything that was brought.
struct WarpMeeting {
  std::array<LaneCall*, 32> lanes{};  ///< By lane; meaningful for the lanes of `present`.
  std::uint32_t mask = 0;             ///< What all of them gave.
  std::uint32_t present = 0;          ///< The lanes of `mask` that had not ended.
  std::size_t bytes = 0;              ///< Of each value.
};

/// Calls visit(lane) for each lane of `mask`, in ascending order.
template <typename Visit>
void for_each_lane(std::uint32_t mask, Visit visit) {
  for (; mask != 0; mask &= mask - 1) visit(static_cast<std::uint32_t>(std::countr_zero(mask)));
}

/// Something that lanes do together. Its address identifies it: only lanes of one operation meet.
struct WarpOperation {
  const char* name;              ///< As a kernel spells it.
  void (*finish)(WarpMeeting&);  ///< Fills in the results of all lanes. Called once, by the lane that came last.
};

}  // namespace lockstep::emulator
