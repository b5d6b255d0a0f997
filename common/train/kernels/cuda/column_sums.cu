// The second pass of sums over rows: adds partial sums of blocks of rows to one row.
#include "kernels/cuda/column_sums.cuh"
#include "kernels/cuda/launching.cuh"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

namespace {

constexpr int kFinishColumns = 32, kFinishGroups = 8;

/// out[c] (+)= sum over block of partial[block * stride + c].
///
/// Launch: blocks_for(columns, 32) blocks of (32, 8): 8 groups of threads share the partial sums of 32 columns, then
/// the first group adds the 8 results. Traffic: reads blocks * columns floats.
__global__ void __launch_bounds__(kFinishColumns* kFinishGroups)
    finish_column_sums(float* out, Write write, const float* partial, std::int64_t blocks, std::int64_t stride,
                       std::int64_t columns) {
  __shared__ float sums[kFinishGroups][kFinishColumns];
  const std::int64_t c = std::int64_t{blockIdx.x} * kFinishColumns + threadIdx.x;
  float sum = 0.0F;
  if (c < columns) {
    for (std::int64_t block = threadIdx.y; block < blocks; block += kFinishGroups) sum += partial[block * stride + c];
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || c >= columns) return;
  for (int group = 1; group < kFinishGroups; ++group) sum += sums[group][threadIdx.x];
  out[c] = write == Write::kAdd ? out[c] + sum : sum;
}

}  // namespace

void finish_sums(float* out, Write write, const float* partial, std::int64_t blocks, std::int64_t stride,
                 std::int64_t columns, cudaStream_t stream) {
  cuda_check(launch(finish_column_sums, dim3(static_cast<unsigned int>(blocks_for(columns, kFinishColumns))),
                    dim3(kFinishColumns, kFinishGroups), 0, stream, out, write, partial, blocks, stride, columns));
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
