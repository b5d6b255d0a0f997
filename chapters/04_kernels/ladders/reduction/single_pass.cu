// Reduction, rung 6 of 6: the block that finishes last adds up all blocks' sums.
//
// values [count] -> sum [1]. At most 1056 blocks of 256 threads, any count.
// Removes: atomic additions of floats, and with them sums that differ from run to run; the launch that zeroes the sum.
// Each block writes its sum to its own place and then counts itself as finished. The block that counts last knows that
// all sums are there, and adds them in a fixed order.
// Traffic: 4 bytes read per value, and 8 bytes per block: bound by memory bandwidth.
#include "../block_sum.cuh"
#include "strided_sum.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::reduction {

namespace {

constexpr int kThreads = 256;

// True in all threads of the last block. Every block writes its sum before its count (the fence orders the two for all
// observers), so the last block may read all sums.
__device__ bool is_last_block(unsigned* finished_blocks) {
  __shared__ bool is_last;
  if (threadIdx.x == 0) {
    __threadfence();
    is_last = atomicAdd(finished_blocks, 1U) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  return is_last;
}

__global__ void single_pass_kernel(float* sum, const float* values, int count, ReductionWorkspace workspace) {
  const float of_block = block_sum<kThreads>(strided_sum(values, count));
  if (threadIdx.x == 0) workspace.partial_sums[blockIdx.x] = of_block;
  if (!is_last_block(workspace.finished_blocks)) return;

  float part = 0;
  for (int i = threadIdx.x; i < static_cast<int>(gridDim.x); i += kThreads) part += workspace.partial_sums[i];
  const float total = block_sum<kThreads>(part);
  if (threadIdx.x == 0) {
    *sum = total;
    *workspace.finished_blocks = 0;  // ready for the next call
  }
}

}  // namespace

void single_pass(float* sum, const float* values, int count, ReductionWorkspace workspace, cudaStream_t stream) {
  const int blocks = count == 0 ? 1 : blocks_for(count, kThreads);  // with no values, one block still writes a zero
  single_pass_kernel<<<blocks, kThreads, 0, stream>>>(sum, values, count, workspace);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::reduction
