#pragma once
/// @file
/// Divisions of groups into smaller ones, and functions that take any group, for <cooperative_groups.h>.
#include "thread_groups.h"

namespace cooperative_groups {

/// The calling thread alone.
[[nodiscard]] inline thread_block_tile<1> this_thread() noexcept {
  return {thread_block::thread_rank(), thread_block::num_threads()};
}

/// Tiles of a block, in the order of its threads.
template <unsigned Size>
[[nodiscard]] thread_block_tile<Size, thread_block> tiled_partition(const thread_block&) noexcept {
  return {thread_block::thread_rank() / Size, (thread_block::num_threads() + Size - 1) / Size};
}
/// Tiles of a tile.
template <unsigned Size, unsigned ParentSize, typename Parent>
[[nodiscard]] thread_block_tile<Size, thread_block_tile<ParentSize, Parent>> tiled_partition(
    const thread_block_tile<ParentSize, Parent>& parent) noexcept {
  static_assert(Size <= ParentSize, "a tile is no larger than its parent");
  return {parent.thread_rank() / Size, ParentSize / Size};
}
/// Groups of `size` consecutive ranks; the last may be smaller.
[[nodiscard]] inline coalesced_group tiled_partition(const coalesced_group& parent, unsigned size) noexcept {
  const unsigned first = parent.thread_rank() / size * size;
  unsigned mask = 0;
  for (unsigned rank = first; rank < first + size && rank < parent.size(); ++rank) {
    mask |= 1U << parent.lanes().lane(rank);
  }
  return coalesced_group(mask, first / size, (parent.size() + size - 1) / size);
}
template <unsigned Size>
[[nodiscard]] coalesced_group tiled_partition(const coalesced_group& parent) noexcept {
  return tiled_partition(parent, Size);
}
/// Tiles whose size, a power of two up to 32, is known at run time only.
[[nodiscard]] inline thread_group tiled_partition(const thread_group& parent, unsigned size) noexcept {
  if (parent.mask() != 0) return tiled_partition(coalesced_group(parent.mask()), size);
  const unsigned lanes = size >= 32 ? ~0U : (1U << size) - 1U;
  return coalesced_group(lanes << (lockstep::emulator::lane_id() & ~(size - 1U)));
}

/// The members whose predicate is the caller's.
template <typename Group>
[[nodiscard]] coalesced_group binary_partition(const Group& group, bool predicate, LOCKSTEP_EMULATOR_AT) {
  const unsigned mask = group.lanes().mask();
  const unsigned yes = vote(lockstep::emulator::VoteKind::kBallot, mask, predicate ? 1 : 0, at);
  return coalesced_group(predicate ? yes : mask & ~yes, predicate ? 1 : 0, 2);
}
/// The members whose label is the caller's.
template <typename Group, typename Label>
[[nodiscard]] coalesced_group labeled_partition(const Group& group, Label label, LOCKSTEP_EMULATOR_AT) {
  return coalesced_group(lockstep::emulator::match_any(group.lanes().mask(), &label, sizeof(Label), at));
}

template <typename Group>
void sync(const Group& group, LOCKSTEP_EMULATOR_AT) {
  group.sync(at);
}
template <typename Group>
[[nodiscard]] auto thread_rank(const Group& group) {
  return group.thread_rank();
}
template <typename Group>
[[nodiscard]] auto group_size(const Group& group) {
  return group.num_threads();
}

/// Calls `function` in one thread of the group.
template <typename Group, typename Function, typename... Arguments>
void invoke_one(const Group& group, Function&& function, Arguments&&... arguments) {
  if (group.thread_rank() == 0) function(static_cast<Arguments&&>(arguments)...);
}
/// The same; all threads get the result.
template <typename Function, typename... Arguments>
auto invoke_one_broadcast(const LaneOperations& group, Function&& function, Arguments&&... arguments) {
  decltype(function(static_cast<Arguments&&>(arguments)...)) result{};
  if (group.thread_rank() == 0) result = function(static_cast<Arguments&&>(arguments)...);
  return group.shfl(result, 0);
}

}  // namespace cooperative_groups
