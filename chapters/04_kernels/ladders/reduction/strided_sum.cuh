#pragma once
// Shared by the last two rungs: one thread's part of the values.
#include "../registry.hpp"
#include "../warp.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::reduction {

// As many blocks as the work needs, but no more than fill a large device: 132 multiprocessors (H100), 8 blocks of 256
// threads on each.
inline int blocks_for(int count, int threads) {
  constexpr int kMostBlocks = kReductionBlocks;
  const int wanted = pieces(count, 4 * threads);
  return wanted < kMostBlocks ? wanted : kMostBlocks;
}

// The sum of every n-th group of four values, n being the number of threads in the grid, and of the 0 to 3 values left
// at the end. `values` begins at a 16-byte boundary, like all memory from cudaMalloc.
__device__ inline float strided_sum(const float* values, int count) {
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  const int threads = gridDim.x * blockDim.x;
  const int groups = count / 4;
  float sum = 0;
  for (int i = thread; i < groups; i += threads) {
    const float4 four = reinterpret_cast<const float4*>(values)[i];
    sum += (four.x + four.y) + (four.z + four.w);
  }
  const int left_over = 4 * groups + thread;
  return left_over < count ? sum + values[left_over] : sum;
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::reduction
