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

constexpr int kRowWarps = 4;
constexpr int kRowThreads = kRowWarps * kWarpSize;

/// Blocks for whose registers a processor has room, without spills.
template <typename S, int kPacks>
constexpr int kBlocksOfProcessor = sizeof(S) == 2 && kPacks <= 3 ? 4 : 2;

/// The same with a warp for each row, which needs no barrier: for rows of up to 32 kPacks packs of 16 bytes.
///
/// Launch: one block of kRowThreads for rows_per_block rows, of which a warp takes every fourth; shared memory for 8 C
/// floats. A lane keeps its channels' partial sums in registers; at the end they are added in the order of the warps.
/// Traffic: reads 2 elements (3 with skip) and writes 1 per (row, channel).
template <typename S, int kPacks>
__global__ void __launch_bounds__(kRowThreads, kBlocksOfProcessor<S, kPacks>)
    normalize_rows_backward_by_warps(NormBackward<S> p) {
  constexpr int W = kPackWidth<S>;
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize, warp = static_cast<int>(threadIdx.x) / kWarpSize;
  const std::int64_t begin = std::int64_t{blockIdx.x} * p.rows_per_block;
  const std::int64_t end = begin + p.rows_per_block < p.rows ? begin + p.rows_per_block : p.rows;
  Floats<W> of_gain[kPacks] = {}, of_bias[kPacks] = {};
  for (std::int64_t row = begin + warp; row < end; row += kRowWarps) {
    const S *const dy = p.out_gradient + row * p.channels, *const x = p.input + row * p.channels;
    const float mean = p.means[row], factor = p.reciprocal_deviations[row];
    Floats<W> g[kPacks] = {}, n[kPacks] = {};
#pragma unroll
    for (int pack = 0; pack < kPacks; ++pack) {
      const int c = (pack * kWarpSize + lane) * W;
      if (c >= p.channels) continue;
      g[pack] = load<W>(dy, c);
      n[pack] = load<W>(x, c);
    }
    float sum_g = 0.0F, sum_gn = 0.0F;
#pragma unroll
    for (int pack = 0; pack < kPacks; ++pack) {
      const int c = (pack * kWarpSize + lane) * W;
      if (c >= p.channels) continue;
      const Floats<W> gains = load<W>(p.gain, c);
#pragma unroll
      for (int k = 0; k < W; ++k) {
        n[pack].at[k] = (n[pack].at[k] - mean) * factor;
        of_gain[pack].at[k] += g[pack].at[k] * n[pack].at[k];
        of_bias[pack].at[k] += g[pack].at[k];
        g[pack].at[k] *= gains.at[k];
        sum_g += g[pack].at[k];
        sum_gn += g[pack].at[k] * n[pack].at[k];
      }
    }
    const auto channels = static_cast<float>(p.channels);
    const float mean_g = warp_sum(sum_g) / channels, mean_gn = warp_sum(sum_gn) / channels;
#pragma unroll
    for (int pack = 0; pack < kPacks; ++pack) {
      const int c = (pack * kWarpSize + lane) * W;
      if (c >= p.channels) continue;
      Floats<W> added{};
      if (p.skip != nullptr) added = load<W>(p.skip, row * p.channels + c);
#pragma unroll
      for (int k = 0; k < W; ++k) added.at[k] += (g[pack].at[k] - mean_g - n[pack].at[k] * mean_gn) * factor;
      store(p.input_gradient, row * p.channels + c, added);
    }
  }
  float* const sums = dynamic_shared<float>();  // [warps, 2, C]
#pragma unroll
  for (int pack = 0; pack < kPacks; ++pack) {
    const int c = (pack * kWarpSize + lane) * W;
    if (c >= p.channels) continue;
    store(sums, warp * 2 * p.channels + c, of_gain[pack]);
    store(sums, (warp * 2 + 1) * p.channels + c, of_bias[pack]);
  }
  __syncthreads();
  for (std::int64_t c = threadIdx.x; c < 2 * p.channels; c += kRowThreads) {
    float sum = 0.0F;
    for (int from = 0; from < kRowWarps; ++from) sum += sums[from * 2 * p.channels + c];
    p.partial[std::int64_t{blockIdx.x} * 2 * p.channels + c] = sum;
  }
}

template <int kLaneChannels, typename S>
void launch_by_warps(const NormBackward<S>& p, const RowBlocks& split, cudaStream_t stream) {
  constexpr int kPacks = kLaneChannels / kPackWidth<S>;
  const std::size_t bytes = std::size_t{kRowWarps} * 2 * static_cast<std::size_t>(p.channels) * sizeof(float);
  cuda_check(launch(normalize_rows_backward_by_warps<S, kPacks>, dim3(static_cast<unsigned int>(split.blocks)),
                    dim3(kRowThreads), bytes, stream, p));
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
      if (channels <= 24 * kWarpSize) {
        launch_by_warps<24>(p, split, context.stream);
      } else if (channels <= 32 * kWarpSize) {
        launch_by_warps<32>(p, split, context.stream);
      } else {
        launch_backward<S, kPackWidth<S>>(p, split, context.stream);
      }
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
