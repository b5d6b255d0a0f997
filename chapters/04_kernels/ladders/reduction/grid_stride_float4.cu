// Reduction, rung 5 of 6: as many blocks as the device holds, each walking through the values in strides of the grid.
//
// values [count] -> sum [1]. At most 1056 blocks of 256 threads, any count.
// Removes: a tree per 256 values. A thread first adds up its own values in a register, and the tree runs once per
// block, however many values there are. A float4 loads 16 bytes with one instruction, so that more bytes are in flight.
// Pays: up to 1056 atomics, whose order, and so the sum's last bits, differ from run to run; an extra launch that
// zeroes the sum.
#include "../block_sum.cuh"
#include "strided_sum.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::reduction {

namespace {

constexpr int kThreads = 256;

__global__ void grid_stride_float4_kernel(float* sum, const float* values, int count) {
  const float of_block = block_sum<kThreads>(strided_sum(values, count));
  if (threadIdx.x == 0) atomicAdd(sum, of_block);
}

}  // namespace

void grid_stride_float4(float* sum, const float* values, int count, ReductionWorkspace, cudaStream_t stream) {
  cudaMemsetAsync(sum, 0, sizeof(float), stream);
  if (count == 0) return;
  grid_stride_float4_kernel<<<blocks_for(count, kThreads), kThreads, 0, stream>>>(sum, values, count);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::reduction
