#pragma once
/// @file
/// Lanes of a warp that meet to exchange values.
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace lockstep::emulator {

/// A lane's arguments in a meeting. Stored on the lane's stack while the lane waits.
struct LaneCall {
  void* value = nullptr;             ///< Input and output; all have the meeting's size.
  std::uint32_t argument = 0;        ///< Depends on the operation, for example a shuffle's source lane.
  std::uint32_t segment_lanes = 32;  ///< A shuffle's width.
  std::uint32_t result = 0;          ///< A lane mask or a number.
  bool reads_undefined = false;      ///< Set if the lane read from a lane that provided no value.
};

/// The arguments of all lanes in a meeting.
struct WarpMeeting {
  std::array<LaneCall*, 32> lanes{};  ///< By lane; valid for the lanes of `present`.
  std::uint32_t mask = 0;             ///< The mask that all of them passed.
  std::uint32_t present = 0;          ///< The lanes of `mask` that had not ended.
  std::size_t bytes = 0;              ///< Of each value.
};

/// Calls visit(lane) for each lane of `mask`, in ascending order.
template <typename Visit>
void for_each_lane(std::uint32_t mask, Visit visit) {
  for (; mask != 0; mask &= mask - 1) visit(static_cast<std::uint32_t>(std::countr_zero(mask)));
}

/// A collective operation of lanes. Identified by its address: only lanes in the same operation meet.
struct WarpOperation {
  const char* name;              ///< As written in a kernel.
  void (*finish)(WarpMeeting&);  ///< Computes the results of all lanes. Called once, by the last lane to arrive.
};

}  // namespace lockstep::emulator
