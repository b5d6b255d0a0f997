// Reduction, rung 1 of 6: every thread adds its value to the sum in memory.
//
// values [count] -> sum [1]. One thread per value, 256 threads per block, any count.
// Traffic: 4 bytes read per value, and an atomic addition per value. Atomics execute in the L2 cache, and additions to
// one address wait for each other: this is the cost.
#include "../registry.hpp"
#include "../warp.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::reduction {

namespace {

constexpr int kThreads = 256;

__global__ void one_atomic_per_thread_kernel(float* sum, const float* values, int count) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < count) atomicAdd(sum, values[i]);
}

}  // namespace

void one_atomic_per_thread(float* sum, const float* values, int count, ReductionWorkspace, cudaStream_t stream) {
  cudaMemsetAsync(sum, 0, sizeof(float), stream);
  if (count == 0) return;
  one_atomic_per_thread_kernel<<<pieces(count, kThreads), kThreads, 0, stream>>>(sum, values, count);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::reduction
