#pragma once
/// @file
/// Sums and maxima over the threads of a warp or a block. The order of additions is fixed, so results repeat bit for
/// bit.
#include <cuda_runtime.h>

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

inline constexpr int kWarpSize = 32;
inline constexpr unsigned int kAllLanes = 0xFFFFFFFFU;

/// The sum over `kLanes` neighbouring lanes (a power of two), in each of them. All 32 lanes call it.
template <int kLanes = kWarpSize, typename T>
__device__ inline T warp_sum(T value) {
#pragma unroll
  for (int distance = kLanes / 2; distance > 0; distance /= 2) value += __shfl_xor_sync(kAllLanes, value, distance);
  return value;
}

/// The largest of `kLanes` neighbouring lanes, in each of them; ignores NaN.
template <int kLanes = kWarpSize>
__device__ inline float warp_maximum(float value) {
#pragma unroll
  for (int distance = kLanes / 2; distance > 0; distance /= 2) {
    value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, distance));
  }
  return value;
}

/// The sum over a block of kWarps whole warps, in each of its threads. All threads call it.
/// @param partial  Shared memory; must not be written again before all threads have passed another barrier.
template <int kWarps, typename T>
__device__ inline T block_sum(T value, T* partial) {
  value = warp_sum(value);
  if constexpr (kWarps > 1) {
    const int lane = static_cast<int>(threadIdx.x) % kWarpSize, warp = static_cast<int>(threadIdx.x) / kWarpSize;
    if (lane == 0) partial[warp] = value;
    __syncthreads();
    value = warp_sum(lane < kWarps ? partial[lane] : T{0});
  }
  return value;
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
