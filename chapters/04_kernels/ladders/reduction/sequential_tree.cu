// Reduction, rung 3 of 6: the same tree, with the active threads side by side.
//
// values [count] -> sum [1]. One thread per value, 256 threads per block, any count.
// Removes: half-empty warps. Of 256 threads the first 128 add, then the first 64, and so on: whole warps become idle
// after each step, and a warp's lanes add neighbouring words, one in each bank of shared memory.
// Pays: 9 barriers for 256 values, and from 32 threads on only one warp works at each of them.
#include "../registry.hpp"
#include "../warp.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::reduction {

namespace {

constexpr int kThreads = 256;

__global__ void sequential_tree_kernel(float* sum, const float* values, int count) {
  __shared__ float partial[kThreads];
  const int thread = threadIdx.x;
  const int i = blockIdx.x * kThreads + thread;
  partial[thread] = i < count ? values[i] : 0.0F;
  __syncthreads();
  for (int stride = kThreads / 2; stride > 0; stride /= 2) {
    if (thread < stride) partial[thread] += partial[thread + stride];
    __syncthreads();
  }
  if (thread == 0) atomicAdd(sum, partial[0]);
}

}  // namespace

void sequential_tree(float* sum, const float* values, int count, ReductionWorkspace, cudaStream_t stream) {
  cudaMemsetAsync(sum, 0, sizeof(float), stream);
  if (count == 0) return;
  sequential_tree_kernel<<<pieces(count, kThreads), kThreads, 0, stream>>>(sum, values, count);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::reduction
