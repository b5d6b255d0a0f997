// Reduction, rung 2 of 6: a block adds up its values in shared memory, and one of its threads updates the sum.
//
// values [count] -> sum [1]. One thread per value, 256 threads per block, any count.
// Removes: 255 of 256 atomics.
// Pays: in step k a thread adds only if 2^k divides its index. These threads are spread over all 8 warps, and a warp
// takes as long for one active lane as for 32: up to the 6th step all 8 warps are busy, with fewer and fewer additions.
#include "../registry.hpp"
#include "../warp.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::reduction {

namespace {

constexpr int kThreads = 256;

__global__ void divergent_tree_kernel(float* sum, const float* values, int count) {
  __shared__ float partial[kThreads];
  const int thread = threadIdx.x;
  const int i = blockIdx.x * kThreads + thread;
  partial[thread] = i < count ? values[i] : 0.0F;
  __syncthreads();
  for (int stride = 1; stride < kThreads; stride *= 2) {
    if (thread % (2 * stride) == 0) partial[thread] += partial[thread + stride];
    __syncthreads();
  }
  if (thread == 0) atomicAdd(sum, partial[0]);
}

}  // namespace

void divergent_tree(float* sum, const float* values, int count, ReductionWorkspace, cudaStream_t stream) {
  cudaMemsetAsync(sum, 0, sizeof(float), stream);
  if (count == 0) return;
  divergent_tree_kernel<<<pieces(count, kThreads), kThreads, 0, stream>>>(sum, values, count);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::reduction
