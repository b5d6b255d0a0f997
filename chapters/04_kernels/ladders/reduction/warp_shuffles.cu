// Reduction, rung 4 of 6: within a warp, values move from register to register.
//
// values [count] -> sum [1]. One thread per value, 256 threads per block, any count.
// Removes: 8 of 9 barriers and nearly all shared memory traffic. The lanes of a warp exchange registers
// (__shfl_xor_sync), which also synchronizes them; shared memory carries 8 values, one per warp.
// Pays: a block, with its start and its barrier, for every 256 values; 4 bytes per load instruction.
#include "../block_sum.cuh"
#include "../registry.hpp"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::reduction {

namespace {

constexpr int kThreads = 256;

__global__ void warp_shuffles_kernel(float* sum, const float* values, int count) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  const float of_block = block_sum<kThreads>(i < count ? values[i] : 0.0F);
  if (threadIdx.x == 0) atomicAdd(sum, of_block);
}

}  // namespace

void warp_shuffles(float* sum, const float* values, int count, ReductionWorkspace, cudaStream_t stream) {
  cudaMemsetAsync(sum, 0, sizeof(float), stream);
  if (count == 0) return;
  warp_shuffles_kernel<<<pieces(count, kThreads), kThreads, 0, stream>>>(sum, values, count);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::reduction
