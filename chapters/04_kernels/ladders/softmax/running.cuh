#pragma once
// Maximum and sum of exponentials in one pass: the running state of online softmax.
//
// The sum is always relative to the largest value so far. When a larger one comes, the sum is rescaled by one
// multiplication with exp(old maximum - new maximum). Two such pairs, over two parts of a row, combine in the same way;
// flash attention does it with tiles of a row.
// Source: Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018), algorithm 3.
#include "../warp_sum.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::softmax {

struct Running {
  float largest = -INFINITY;
  float sum = 0;  // of exp(x - largest)

  __device__ void add(float x) {
    if (x > largest) {
      sum = sum * expf(largest - x) + 1.0F;  // exp(-infinity) is 0 for the first value
      largest = x;
    } else if (x != -INFINITY) {  // a masked value adds nothing, even if it comes first
      sum += expf(x - largest);
    }
  }

  __device__ void combine(Running other) {
    const float both = fmaxf(largest, other.largest);
    if (both == -INFINITY) return;  // neither has seen a value: infinity minus infinity would be NaN
    sum = sum * expf(largest - both) + other.sum * expf(other.largest - both);
    largest = both;
  }
};

// Combines the lanes' parts of a row; all lanes get the result.
__device__ inline Running over_warp(Running own) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    Running other;
    other.largest = __shfl_xor_sync(kAllLanes, own.largest, distance);
    other.sum = __shfl_xor_sync(kAllLanes, own.sum, distance);
    own.combine(other);
  }
  return own;
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::softmax
