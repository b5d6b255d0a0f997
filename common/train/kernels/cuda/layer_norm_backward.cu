// Layer normalization, backward: one pass over the rows computes the input's gradient and partial sums for the
// parameters; a second pass adds those up. Letters: R rows, C channels.
#include "kernels/cuda/column_sums.cuh"
#include "kernels/cuda/launching.cuh"
#include "kernels/cuda/operations.hpp"
#include "kernels/cuda/sums.cuh"
#include "kernels/cuda/types.cuh"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

namespace {

constexpr int kWarps = 8;
constexpr int kThreads = kWarps * kWarpSize;
constexpr int kMostBlocks = 512;

/// Pointers of one call.
template <typename S>
struct NormBackward {
  S* input_gradient;
  float* partial;                        // [blocks, 2, C]: of gain, then of bias
  const S *out_gradient, *input, *skip;  // skip may be null
  const float *gain, *means, *reciprocal_deviations;
  std::int64_t rows, rows_per_block, channels;
};

/// With n the normalized row and g = out_gradient * gain:
/// input_gradient = (g - mean(g) - n mean(g n)) / deviation + skip; partial = sums of out_gradient n and out_gradient.
///
/// Launch: one block of kThreads for rows_per_block rows; shared memory for 2 C floats, the partial sums, each touched
/// only by the thread that owns its column. Sums over a row alternate between two arrays, so that one barrier per row
/// is enough. Traffic: reads 2 elements (3 with skip) and writes 1 per (row, channel); the second reading of a row of
/// out_gradient and input finds it in the first-level cache.
template <typename S, int W>
__global__ void __launch_bounds__(kThreads) normalize_rows_backward(NormBackward<S> p) {
  __shared__ float partial_g[2][kWarps], partial_gn[2][kWarps];
  float* const gain_sums = dynamic_shared<float>();  // [C]
  float* const bias_sums = gain_sums + p.channels;   // [C]
  const std::int64_t begin = std::int64_t{blockIdx.x} * p.rows_per_block;
  const std::int64_t end = begin + p.rows_per_block < p.rows ? begin + p.rows_per_block : p.rows;
  const std::int64_t thread = threadIdx.x;
  for (std::int64_t c = thread * W; c < p.channels; c += kThreads * W) {
    store(gain_sums, c, Floats<W>{});
    store(bias_sums, c, Floats<W>{});
  }
  for (std::int64_t row = begin; row < end; ++row) {
    const S *const dy = p.out_gradient + row * p.channels, *const x = p.input + row * p.channels;
    const float mean = p.means[row], factor = p.reciprocal_deviations[row];
    float sum_g = 0.0F, sum_gn = 0.0F;
    for (std::int64_t c = thread * W; c < p.channels; c += kThreads * W) {
      const Floats<W> gradients = load<W>(dy, c), values = load<W>(x, c), gains = load<W>(p.gain, c);
      Floats<W> of_gain = load<W>(gain_sums, c), of_bias = load<W>(bias_sums, c);
#pragma unroll
      for (int k = 0; k < W; ++k) {
        const float n = (values.at[k] - mean) * factor, g = gradients.at[k] * gains.at[k];
        sum_g += g;
        sum_gn += g * n;
        of_gain.at[k] += gradients.at[k] * n;
        of_bias.at[k] += gradients.at[k];
      }
      store(gain_sums, c, of_gain);
      store(bias_sums, c, of_bias);
    }
    const int turn = static_cast<int>(row % 2);
    const int lane = static_cast<int>(threadIdx.x) % kWarpSize, warp = static_cast<int>(threadIdx.x) / kWarpSize;
    sum_g = warp_sum(sum_g);
    sum_gn = warp_sum(sum_gn);
    if (lane == 0) {
      partial_g[turn][warp] = sum_g;
      partial_gn[turn][warp] = sum_gn;
    }
    __syncthreads();
    sum_g = warp_sum<kWarps>(partial_g[turn][lane % kWarps]);
    sum_gn = warp_sum<kWarps>(partial_gn[turn][lane % kWarps]);
    const float mean_g = sum_g / static_cast<float>(p.channels), mean_gn = sum_gn / static_cast<float>(p.channels);
    for (std::int64_t c = thread * W; c < p.channels; c += kThreads * W) {
      Floats<W> gradients = load<W>(dy, c);
      const Floats<W> values = load<W>(x, c), gains = load<W>(p.gain, c);
#pragma unroll
      for (int k = 0; k < W; ++k) {
        const float n = (values.at[k] - mean) * factor;
        gradients.at[k] = (gradients.at[k] * gains.at[k] - mean_g - n * mean_gn) * factor;
      }
      if (p.skip != nullptr) {
        const Floats<W> added = load<W>(p.skip, row * p.channels + c);
#pragma unroll
        for (int k = 0; k < W; ++k) gradients.at[k] += added.at[k];
      }
      store(p.input_gradient, row * p.channels + c, gradients);
    }
  }
  float* const partial = p.partial + std::int64_t{blockIdx.x} * 2 * p.channels;
  for (std::int64_t c = thread * W; c < p.channels; c += kThreads * W) {
    store(partial, c, load<W>(gain_sums, c));
    store(partial + p.channels, c, load<W>(bias_sums, c));
  }
}

template <typename S, int W>
void launch_backward(const NormBackward<S>& p, const RowBlocks& split, cudaStream_t stream) {
  const std::size_t bytes = 2 * static_cast<std::size_t>(p.channels) * sizeof(float);
  allow_shared_memory(normalize_rows_backward<S, W>, bytes);
  cuda_check(launch(normalize_rows_backward<S, W>, dim3(static_cast<unsigned int>(split.blocks)), dim3(kThreads), bytes,
                    stream, p));
}

}  // namespace

void layer_norm_backward(Array input_gradient, ConstArray out_gradient, ConstArray mean,
                         ConstArray reciprocal_deviation, ConstArray input, ConstArray gain, Array gain_gradient,
                         Array bias_gradient, Write parameter_write, ConstArray skip_gradient, Context context) {
  if (input.count() == 0) {
    if (parameter_write == Write::kAdd) return;
    fill(gain_gradient, 0.0, context);
    return fill(bias_gradient, 0.0, context);
  }
  on_storage_type(input, [&](auto zero) {
    using S = decltype(zero);
    const RowBlocks split(input.rows, kMostBlocks);
    const std::int64_t channels = input.columns;
    const NormBackward<S> p{.input_gradient = input_gradient.as<S>(),
                            .partial = context.scratch->take<float>(split.blocks * 2 * channels),
                            .out_gradient = out_gradient.as<S>(),
                            .input = input.as<S>(),
                            .skip = skip_gradient.as<S>(),
                            .gain = gain.as<float>(),
                            .means = mean.as<float>(),
                            .reciprocal_deviations = reciprocal_deviation.as<float>(),
                            .rows = input.rows,
                            .rows_per_block = split.rows_per_block,
                            .channels = channels};
    if (are_rows_aligned<S>(channels, input_gradient.data, out_gradient.data, input.data, skip_gradient.data,
                            gain.data)) {
      launch_backward<S, kPackWidth<S>>(p, split, context.stream);
    } else {
      launch_backward<S, 1>(p, split, context.stream);
    }
    finish_sums(gain_gradient.as<float>(), parameter_write, p.partial, split.blocks, 2 * channels, channels,
                context.stream);
    finish_sums(bias_gradient.as<float>(), parameter_write, p.partial + channels, split.blocks, 2 * channels, channels,
                context.stream);
  });
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
