#include "emulator/engine/warp_meetings.hpp"

#include <utility>

namespace lockstep::emulator {

void WarpMeetings::begin_block(std::uint32_t thread_count) {
  warps_.resize((thread_count + 31) / 32);
  for (std::uint32_t index = 0; index < warps_.size(); ++index) {
    Warp& warp = warps_[index];
    const std::uint32_t lanes = thread_count - index * 32;
    warp.live = lanes >= 32 ? 0xffffffffU : (1U << lanes) - 1;
    warp.asking = warp.group_count = 0;
  }
}

std::uint32_t WarpMeetings::join(const ThreadState& lane, const WarpOperation& operation, std::uint32_t mask,
                                 std::size_t bytes, LaneCall& call) {
  Warp& warp = warps_[lane.warp];
  warp.calls[lane.lane] = &call;
  Group& group = find_group(warp, operation, mask, bytes);
  group.arrived |= 1U << lane.lane;
  return group.arrived == (mask & warp.live) ? finish(warp, group) : 0;
}

WarpMeetings::Group& WarpMeetings::find_group(Warp& warp, const WarpOperation& operation, std::uint32_t mask,
                                              std::size_t bytes) {
  for (Group& group : std::span(warp.groups).first(warp.group_count)) {
    if (group.operation == &operation && group.mask == mask && group.bytes == bytes) return group;
  }
  Group& group = warp.groups[warp.group_count++];
  group = {&operation, bytes, mask, 0};
  return group;
}

std::uint32_t WarpMeetings::finish(Warp& warp, Group& group) {
  const Group finished = group;
  group = warp.groups[--warp.group_count];
  WarpMeeting meeting{warp.calls, finished.mask, finished.arrived, finished.bytes};
  if (finished.operation->finish != nullptr) finished.operation->finish(meeting);
  return finished.arrived;
}

std::uint32_t WarpMeetings::finish_complete(Warp& warp) {
  for (Group& group : std::span(warp.groups).first(warp.group_count)) {
    if (group.arrived == (group.mask & warp.live)) return finish(warp, group);
  }
  return 0;
}

void WarpMeetings::ask_active_mask(const ThreadState& lane, LaneCall& call) noexcept {
  Warp& warp = warps_[lane.warp];
  warp.calls[lane.lane] = &call;
  warp.asking |= 1U << lane.lane;
}

std::uint32_t WarpMeetings::answer_active_masks(std::uint32_t index, std::span<const ThreadState> threads) noexcept {
  Warp& warp = warps_[index];
  for_each_lane(warp.asking, [&](std::uint32_t lane) {
    std::uint32_t mask = 0;
    for_each_lane(warp.asking, [&](std::uint32_t other) {
      if (threads[index * 32 + other].waiting_at == threads[index * 32 + lane].waiting_at) mask |= 1U << other;
    });
    warp.calls[lane]->result = mask;
  });
  return std::exchange(warp.asking, 0);
}

}  // namespace lockstep::emulator
