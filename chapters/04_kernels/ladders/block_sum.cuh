#pragma once
// The sum over a block of threads: each warp by shuffles, then the first warp over the warps' sums.
#include "warp_sum.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE {

// Thread 0 gets the sum of `value` over all threads; the others' results are meaningless.
// Contract: all kThreads threads of the block call it, with a barrier between any two calls.
template <int kThreads>
__device__ float block_sum(float value) {
  static_assert(kThreads % kWarp == 0 && kThreads <= kWarp * kWarp);
  __shared__ float of_warp[kThreads / kWarp];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  value = warp_sum(value);
  if (lane == 0) of_warp[warp] = value;
  __syncthreads();
  if (warp != 0) return 0.0F;
  return warp_sum(lane < kThreads / kWarp ? of_warp[lane] : 0.0F);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE
