// The gradient of a bias: the sum over rows of [R, N], deterministic in two passes.
#include "kernels/cuda/column_sums.cuh"
#include "kernels/cuda/launching.cuh"
#include "kernels/cuda/operations.hpp"
#include "kernels/cuda/types.cuh"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

namespace {

constexpr int kLanes = 32;  // neighbouring packs of columns
constexpr int kGroups = 8;  // of rows
constexpr int kMostBlocks = 128;

/// partial[block, c] = sum over the block's rows of input[r, c].
///
/// Launch: (blocks_for(N, 32 W), row blocks) blocks of (32, 8). A warp reads 32 packs of one row; the 8 warps take
/// turns with the rows and add their sums through shared memory. Traffic: reads R N elements once.
template <typename S, int W>
__global__ void __launch_bounds__(kLanes* kGroups) partial_row_sums(float* partial, const S* input, std::int64_t rows,
                                                                    std::int64_t columns, std::int64_t rows_per_block) {
  __shared__ float shared[kGroups][kLanes * W];
  const std::int64_t c = (std::int64_t{blockIdx.x} * kLanes + threadIdx.x) * W;
  const std::int64_t begin = std::int64_t{blockIdx.y} * rows_per_block;
  const std::int64_t end = begin + rows_per_block < rows ? begin + rows_per_block : rows;
  Floats<W> sums{};
  if (c < columns) {
#pragma unroll 4
    for (std::int64_t row = begin + threadIdx.y; row < end; row += kGroups) {
      const Floats<W> values = load<W>(input, row * columns + c);
#pragma unroll
      for (int k = 0; k < W; ++k) sums.at[k] += values.at[k];
    }
  }
#pragma unroll
  for (int k = 0; k < W; ++k) shared[threadIdx.y][k * kLanes + threadIdx.x] = sums.at[k];
  __syncthreads();
  if (threadIdx.y != 0 || c >= columns) return;
#pragma unroll
  for (int k = 0; k < W; ++k) {
    for (int group = 1; group < kGroups; ++group) sums.at[k] += shared[group][k * kLanes + threadIdx.x];
    partial[std::int64_t{blockIdx.y} * columns + c + k] = sums.at[k];
  }
}

template <typename S, int W>
void sum_rows(Array bias_gradient, Write write, ConstArray input, Context context) {
  const RowBlocks split(input.rows, kMostBlocks);
  float* const partial = context.scratch->take<float>(split.blocks * input.columns);
  const dim3 grid(static_cast<unsigned int>(blocks_for(input.columns, std::int64_t{W} * kLanes)),
                  static_cast<unsigned int>(split.blocks));
  cuda_check(launch(partial_row_sums<S, W>, grid, dim3(kLanes, kGroups), 0, context.stream, partial, input.as<S>(),
                    input.rows, input.columns, split.rows_per_block));
  finish_sums(bias_gradient.as<float>(), write, partial, split.blocks, input.columns, input.columns, context.stream);
}

}  // namespace

void bias_gradient(Array bias_gradient, Write write, ConstArray out_gradient, Context context) {
  if (bias_gradient.count() == 0) return;
  if (out_gradient.rows == 0) {
    if (write == Write::kOverwrite) fill(bias_gradient, 0.0, context);
    return;
  }
  on_storage_type(out_gradient, [&](auto zero) {
    using S = decltype(zero);
    if (are_rows_aligned<S>(out_gradient.columns, out_gradient.data)) {
      sum_rows<S, kPackWidth<S>>(bias_gradient, write, out_gradient, context);
    } else {
      sum_rows<S, 1>(bias_gradient, write, out_gradient, context);
    }
  });
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
