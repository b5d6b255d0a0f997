// The softmax over rows and its gradient, one warp per row. Letters: R rows, C columns.
#include "kernels/cuda/launching.cuh"
#include "kernels/cuda/operations.hpp"
#include "kernels/cuda/packs.cuh"
#include "kernels/cuda/sums.cuh"
#include "kernels/cuda/types.cuh"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

namespace {

constexpr int kRows = 8;  // warps of a block

/// out = e^(x - largest) / sum, row by row.
///
/// Launch: blocks_for(R, kRows) blocks of kRows warps, one row each. Traffic: reads the row three times, the second and
/// third time from a cache.
template <typename S>
__global__ void __launch_bounds__(kRows* kWarpSize)
    softmax_rows(S* out, const S* input, std::int64_t rows, std::int64_t columns) {
  const std::int64_t row = std::int64_t{blockIdx.x} * kRows + threadIdx.x / kWarpSize;
  if (row >= rows) return;  // a whole warp
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const S* const x = input + row * columns;
  S* const y = out + row * columns;
  float largest = -__builtin_huge_valf();
  for (std::int64_t c = lane; c < columns; c += kWarpSize) largest = fmaxf(largest, load<1>(x, c).at[0]);
  largest = warp_maximum(largest);
  float sum = 0.0F;
  for (std::int64_t c = lane; c < columns; c += kWarpSize) sum += expf(load<1>(x, c).at[0] - largest);
  const float factor = 1.0F / warp_sum(sum);
  for (std::int64_t c = lane; c < columns; c += kWarpSize) {
    store(y, c, Floats<1>{{expf(load<1>(x, c).at[0] - largest) * factor}});
  }
}

/// input_gradient (+)= y (dy - sum of y dy), row by row. Launch and traffic as softmax_rows, two passes.
template <typename S>
__global__ void __launch_bounds__(kRows* kWarpSize)
    softmax_rows_backward(S* input_gradient, Write write, const S* out_gradient, const S* out, std::int64_t rows,
                          std::int64_t columns) {
  const std::int64_t row = std::int64_t{blockIdx.x} * kRows + threadIdx.x / kWarpSize;
  if (row >= rows) return;  // a whole warp
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const std::int64_t first = row * columns;
  float dot = 0.0F;
  for (std::int64_t c = lane; c < columns; c += kWarpSize) {
    dot += load<1>(out_gradient, first + c).at[0] * load<1>(out, first + c).at[0];
  }
  dot = warp_sum(dot);
  for (std::int64_t c = lane; c < columns; c += kWarpSize) {
    const float gradient = load<1>(out, first + c).at[0] * (load<1>(out_gradient, first + c).at[0] - dot);
    write_pack(input_gradient, first + c, Floats<1>{{gradient}}, write);
  }
}

dim3 blocks_of(const ConstArray& array) { return dim3(static_cast<unsigned int>(blocks_for(array.rows, kRows))); }

}  // namespace

void softmax_forward(Array out, ConstArray input, Context context) {
  if (out.count() == 0) return;
  on_storage_type(out, [&](auto zero) {
    using S = decltype(zero);
    cuda_check(launch(softmax_rows<S>, blocks_of(out), dim3(kRows * kWarpSize), 0, context.stream, out.as<S>(),
                      input.as<S>(), out.rows, out.columns));
  });
}

void softmax_backward(Array input_gradient, Write write, ConstArray out_gradient, ConstArray out, Context context) {
  if (out.count() == 0) return;
  on_storage_type(out, [&](auto zero) {
    using S = decltype(zero);
    cuda_check(launch(softmax_rows_backward<S>, blocks_of(out), dim3(kRows * kWarpSize), 0, context.stream,
                      input_gradient.as<S>(), write, out_gradient.as<S>(), out.as<S>(), out.rows, out.columns));
  });
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
