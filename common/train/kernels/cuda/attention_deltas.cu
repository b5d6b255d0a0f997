// The products of attention's output and its gradient, head by head: both backward passes need them.
// Letters: B samples, T positions, H heads, C channels, D = C / H.
#include "kernels/cuda/attention.hpp"
#include "kernels/cuda/launching.cuh"
#include "kernels/cuda/operations.hpp"
#include "kernels/cuda/packs.cuh"
#include "kernels/cuda/sums.cuh"
#include "kernels/cuda/types.cuh"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

namespace {

constexpr int kDeltaThreads = 256;

/// Pointers and sizes of one call.
template <typename S>
struct HeadProducts {
  float* deltas;                // [B, H, T]
  const S *out_gradient, *out;  // [B, T, C]
  std::int64_t length, channels;
  int head_size;
};

/// deltas[b, h, i] = out_gradient[b, i, h] . out[b, i, h]: subtracted from a probability's gradient to get the score's.
///
/// Launch: (blocks_for(T, 256 / kLanes), H, B) blocks of 256; kLanes threads work on one row of a head, W elements at a
/// time. Traffic: reads both arrays once.
template <int kLanes, int W, typename S>
__global__ void __launch_bounds__(kDeltaThreads) multiply_heads(HeadProducts<S> p) {
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const std::int64_t i = std::int64_t{blockIdx.x} * (kDeltaThreads / kLanes) + threadIdx.x / kLanes;
  const std::int64_t sample = blockIdx.z, head = blockIdx.y;
  const std::int64_t first = (sample * p.length + i) * p.channels + head * p.head_size;
  float sum = 0.0F;
  for (int d = lane * W; i < p.length && d < p.head_size; d += kLanes * W) {
    const Floats<W> gradient = load<W>(p.out_gradient, first + d), out = load<W>(p.out, first + d);
#pragma unroll
    for (int k = 0; k < W; ++k) sum += gradient.at[k] * out.at[k];
  }
  sum = warp_sum<kLanes>(sum);
  if (lane == 0 && i < p.length) p.deltas[(sample * gridDim.y + head) * p.length + i] = sum;
}

template <int kLanes, int W, typename S>
void launch_products(const HeadProducts<S>& p, std::int64_t samples, int heads, cudaStream_t stream) {
  const dim3 grid = attention_grid(blocks_for(p.length, kDeltaThreads / kLanes), heads, samples);
  cuda_check(launch(multiply_heads<kLanes, W, S>, grid, dim3(kDeltaThreads), 0, stream, p));
}

}  // namespace

float* attention_deltas(ConstArray out_gradient, ConstArray out, std::int64_t samples, int heads, Context context) {
  const int head_size = head_size_of(out, heads);
  auto* const deltas = context.scratch->take<float>(out.rows * heads);
  on_storage_type(out, [&](auto zero) {
    using S = decltype(zero);
    const HeadProducts<S> p{.deltas = deltas,
                            .out_gradient = out_gradient.as<S>(),
                            .out = out.as<S>(),
                            .length = out.rows / samples,
                            .channels = out.columns,
                            .head_size = head_size};
    if (!are_rows_aligned<S>(head_size, out_gradient.data, out.data))
      return launch_products<kWarpSize, 1>(p, samples, heads, context.stream);
    on_padded_head_size(head_size, [&](auto padded) {
      constexpr int W = kPackWidth<S>;
      launch_products<decltype(padded)::value / W, W>(p, samples, heads, context.stream);
    });
  });
  return deltas;
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
