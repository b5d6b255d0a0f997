#pragma once
// Sums and maxima over the 32 lanes of a warp, by butterfly: in step k each lane adds the value of the lane whose
// number differs in bit k. After 5 steps all lanes hold the result, without shared memory and without a barrier.
#include "warp.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE {

constexpr unsigned kAllLanes = 0xffffffffU;

__device__ inline float warp_sum(float value) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) value += __shfl_xor_sync(kAllLanes, value, distance);
  return value;
}

__device__ inline float warp_max(float value) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, distance));
  }
  return value;
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE
