#pragma once
/// @file
/// All threads of a grid, for <cooperative_groups.h>.
#include <cstddef>

#include "builtin_variables.h"
#include "synchronization.h"
#include "thread_groups.h"

namespace cooperative_groups {

/// All threads of a grid.
class grid_group {
 public:
  static bool is_valid() noexcept { return lockstep::emulator::is_cooperative(); }
  static void sync(LOCKSTEP_EMULATOR_AT) { lockstep::emulator::sync_grid(at); }
  static unsigned long long block_rank() noexcept {
    return (std::size_t{blockIdx.z} * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  }
  static unsigned long long num_blocks() noexcept { return std::size_t{gridDim.x} * gridDim.y * gridDim.z; }
  static unsigned long long thread_rank() noexcept {
    return block_rank() * thread_block::num_threads() + thread_block::thread_rank();
  }
  static unsigned long long num_threads() noexcept { return num_blocks() * thread_block::num_threads(); }
  static unsigned long long size() noexcept { return num_threads(); }
  static dim3 block_index() noexcept { return {blockIdx.x, blockIdx.y, blockIdx.z}; }
  static dim3 group_dim() noexcept { return gridDim; }
  static dim3 dim_blocks() noexcept { return gridDim; }
};
inline grid_group this_grid() noexcept { return {}; }

}  // namespace cooperative_groups
