// Lanes that wait for one another. A meeting is identified by operation, mask and width: lanes that give different ones
// never meet. The lane that comes last computes the results of all while the others' values lie still on their stacks.
#include <bit>

#include "base/text.hpp"
#include "emulator/engine/block_runner.hpp"
#include "emulator/engine/hexadecimal.hpp"

namespace lockstep::emulator {

namespace {

const WarpOperation kActiveMask{"__activemask", nullptr};

template <typename Visit>
void for_each_lane(std::uint32_t mask, Visit visit) {
  for (; mask != 0; mask &= mask - 1) visit(static_cast<std::uint32_t>(std::countr_zero(mask)));
}

}  // namespace

void BlockRunner::meet(const WarpOperation& operation, std::uint32_t mask, std::size_t bytes, LaneCall& call,
                       SourcePlace at) {
  ThreadState& state = current_state();
  state.waiting_at = at;
  if ((mask >> state.lane & 1U) == 0) {
    report({EngineFindingKind::kWrongMask,
            concat("lane ", state.lane, " calls ", operation.name, " with mask ", hexadecimal(mask),
                   ", which lacks its own bit"),
            at,
            {place_of(current_)},
            true});
  }
  ThreadRun& run = current_run();
  run.operation = &operation;
  run.mask = mask;
  Warp& warp = warps_[state.warp];
  warp.calls[state.lane] = &call;
  WarpGroup& group = find_group(warp, operation, mask, bytes);
  group.arrived |= 1U << state.lane;
  if (group.arrived == (mask & warp.live))
    finish_group(state.warp, group);
  else
    wait(WaitKind::kWarp);
  if (call.reads_undefined) report_undefined_lane(state.warp, state.lane);
}

WarpGroup& BlockRunner::find_group(Warp& warp, const WarpOperation& operation, std::uint32_t mask, std::size_t bytes) {
  for (std::uint32_t index = 0; index < warp.group_count; ++index) {
    WarpGroup& group = warp.groups[index];
    if (group.operation == &operation && group.mask == mask && group.bytes == bytes) return group;
  }
  WarpGroup& group = warp.groups[warp.group_count++];
  group = {&operation, bytes, mask, 0};
  return group;
}

void BlockRunner::finish_group(std::uint32_t warp_index, WarpGroup& group) {
  Warp& warp = warps_[warp_index];
  const WarpGroup finished = group;
  group = warp.groups[--warp.group_count];
  WarpMeeting meeting{warp.calls, finished.mask, finished.arrived, finished.bytes};
  if (finished.operation->finish != nullptr) finished.operation->finish(meeting);
  if (observer_ != nullptr) observer_->warp_met(warp_index, finished.arrived);
  steps_without_progress_ = 0;
  for_each_lane(finished.arrived, [&](std::uint32_t lane) {
    const std::uint32_t thread = warp_index * 32 + lane;
    if (thread != current_) runnable_.insert(runs_[thread].place_in_order);
  });
}

/// A lane has ended: meetings that waited for it only are complete.
void BlockRunner::finish_groups_without(std::uint32_t warp_index, std::uint32_t lane) {
  Warp& warp = warps_[warp_index];
  for (std::uint32_t index = 0; index < warp.group_count;) {
    WarpGroup& group = warp.groups[index];
    const bool named_it = (group.mask >> lane & 1U) != 0;
    if (named_it && group.arrived == (group.mask & warp.live))
      finish_group(warp_index, group);  // puts the last group in its place
    else
      ++index;
  }
}

std::uint32_t BlockRunner::active_mask(SourcePlace at) {
  current_state().waiting_at = at;
  current_run().operation = &kActiveMask;
  wait(WaitKind::kActiveMask);
  return current_run().mask;
}

/// Nothing else can run: the lanes of a warp that came to one line are what a GPU would most likely run together.
bool BlockRunner::settle_active_masks() {
  bool has_settled = false;
  for (std::uint32_t thread = 0; thread < thread_count_; ++thread) {
    if (runs_[thread].wait != WaitKind::kActiveMask) continue;
    std::uint32_t mask = 0;
    const std::uint32_t first = thread / 32 * 32;
    const std::uint32_t count = thread_count_ - first < 32 ? thread_count_ - first : 32;
    for (std::uint32_t lane = 0; lane < count; ++lane) {
      const bool is_here = runs_[first + lane].wait == WaitKind::kActiveMask;
      if (is_here && threads_[first + lane].waiting_at == threads_[thread].waiting_at) mask |= 1U << lane;
    }
    runs_[thread].mask = mask;
    has_settled = true;
  }
  for (std::uint32_t thread = 0; thread < thread_count_; ++thread) {
    if (runs_[thread].wait == WaitKind::kActiveMask) runnable_.insert(runs_[thread].place_in_order);
  }
  return has_settled;
}

void BlockRunner::report_undefined_lane(std::uint32_t warp, std::uint32_t lane) {
  if (observer_ == nullptr) return;
  const std::uint32_t thread = warp * 32 + lane;
  report({EngineFindingKind::kUndefinedLane,
          concat("lane ", lane, " reads a lane that takes no part in this ", runs_[thread].operation->name, " (mask ",
                 hexadecimal(runs_[thread].mask), "): the value is undefined"),
          threads_[thread].waiting_at,
          {place_of(thread)},
          false});
}

}  // namespace lockstep::emulator
