#pragma once
/// @file
/// Replaces CUDA's header of this name: reductions over a tile or the active lanes.
#include <type_traits>

#include "../cooperative_groups.h"

namespace cooperative_groups {

// clang-format off
template <typename T = void> struct plus { T operator()(T a, T b) const { return static_cast<T>(a + b); } };
/// The smaller value.
template <typename T = void> struct less { T operator()(T a, T b) const { return b < a ? b : a; } };
/// The larger value.
template <typename T = void> struct greater { T operator()(T a, T b) const { return a < b ? b : a; } };
template <typename T = void> struct bit_and { T operator()(T a, T b) const { return static_cast<T>(a & b); } };
template <typename T = void> struct bit_or { T operator()(T a, T b) const { return static_cast<T>(a | b); } };
template <typename T = void> struct bit_xor { T operator()(T a, T b) const { return static_cast<T>(a ^ b); } };
template <> struct plus<void> { template <typename T> T operator()(T a, T b) const { return plus<T>()(a, b); } };
template <> struct less<void> { template <typename T> T operator()(T a, T b) const { return less<T>()(a, b); } };
template <> struct greater<void> { template <typename T> T operator()(T a, T b) const { return greater<T>()(a, b); } };
template <> struct bit_and<void> { template <typename T> T operator()(T a, T b) const { return bit_and<T>()(a, b); } };
template <> struct bit_or<void> { template <typename T> T operator()(T a, T b) const { return bit_or<T>()(a, b); } };
template <> struct bit_xor<void> { template <typename T> T operator()(T a, T b) const { return bit_xor<T>()(a, b); } };
// clang-format on

/// The combination of all values, in every thread of the group.
template <typename T, typename Operation>
std::decay_t<T> reduce(const LaneOperations& group, T&& value, Operation&& operation, LOCKSTEP_EMULATOR_AT) {
  return group.lanes().reduce(std::decay_t<T>(value), operation, at);
}
/// The same for a tile: neighbours first, as a GPU adds.
template <unsigned Size, typename Parent, typename T, typename Operation>
std::decay_t<T> reduce(const thread_block_tile<Size, Parent>& tile, T&& value, Operation&& operation,
                       LOCKSTEP_EMULATOR_AT) {
  std::decay_t<T> all = value;
  for (unsigned distance = Size / 2; distance > 0; distance /= 2) {
    all = operation(all, tile.shfl_xor(all, distance, at));
  }
  return all;
}

}  // namespace cooperative_groups
