#pragma once
/// @file
/// Replaces CUDA's header of this name: prefix sums over a tile or the active lanes.
#include <type_traits>

#include "reduce.h"

namespace cooperative_groups {

/// The combination of the values of all ranks up to the caller's.
template <typename T, typename Operation = plus<std::decay_t<T>>>
std::decay_t<T> inclusive_scan(const LaneOperations& group, T&& value, Operation operation = {}, LOCKSTEP_EMULATOR_AT) {
  return group.lanes().inclusive_scan(std::decay_t<T>(value), operation, at);
}
/// Without the caller's own value; rank 0 gets T().
template <typename T, typename Operation = plus<std::decay_t<T>>>
std::decay_t<T> exclusive_scan(const LaneOperations& group, T&& value, Operation operation = {}, LOCKSTEP_EMULATOR_AT) {
  const std::decay_t<T> upto = group.lanes().inclusive_scan(std::decay_t<T>(value), operation, at);
  const std::decay_t<T> before = group.shfl_up(upto, 1, at);
  return group.thread_rank() == 0 ? std::decay_t<T>() : before;
}

}  // namespace cooperative_groups
