// Layer normalization, forward, alone or with the residual sum before it. Letters: R rows, C channels.
// @source Ba, Kiros, Hinton, "Layer Normalization", 2016.
#include "kernels/cuda/launching.cuh"
#include "kernels/cuda/operations.hpp"
#include "kernels/cuda/packs.cuh"
#include "kernels/cuda/sums.cuh"
#include "kernels/cuda/types.cuh"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

namespace {

/// Pointers of one call.
template <typename S>
struct NormForward {
  S* out;
  S* sum;  // [R, C], written if b is given; else null
  float *means, *reciprocal_deviations;
  const S *a, *b;  // the kernel normalizes a + b; b may be null
  const float *gain, *bias;
  float epsilon;
  std::int64_t rows, channels;
};

/// out = (x - mean) / sqrt(variance + epsilon) * gain + bias with x = a (+ b), row by row.
///
/// Launch: blocks_for(R, kRows) blocks of kRows groups of kWarps warps (one of the two is 1); shared memory for kRows
/// rows of C floats. A group keeps its row there between the passes for mean, variance and result; each thread reads
/// what it wrote, so only the sums need a barrier. Traffic: reads a (and b) once, writes out (and sum) once.
template <typename S, int W, int kWarps, int kRows>
__global__ void __launch_bounds__(kWarps* kRows* kWarpSize) normalize_rows(NormForward<S> p) {
  static_assert(kWarps == 1 || kRows == 1);
  __shared__ float partial[2][kWarps];
  constexpr int kThreads = kWarps * kWarpSize;
  const int group = static_cast<int>(threadIdx.x) / kThreads, thread = static_cast<int>(threadIdx.x) % kThreads;
  const std::int64_t row = std::int64_t{blockIdx.x} * kRows + group, first = row * p.channels;
  if (row >= p.rows) return;  // whole warps; with several warps per row, a block has one row
  float* const x = dynamic_shared<float>() + group * p.channels;
  float total = 0.0F;
  for (std::int64_t c = thread * W; c < p.channels; c += kThreads * W) {
    Floats<W> values = load<W>(p.a, first + c);
    if (p.b != nullptr) {
      const Floats<W> added = load<W>(p.b, first + c);
#pragma unroll
      for (int k = 0; k < W; ++k) values.at[k] = widened(narrowed<S>(values.at[k] + added.at[k]));
      store(p.sum, first + c, values);
    }
#pragma unroll
    for (int k = 0; k < W; ++k) total += values.at[k];
    store(x, c, values);
  }
  const float mean = block_sum<kWarps>(total, partial[0]) / static_cast<float>(p.channels);
  float squares = 0.0F;
  for (std::int64_t c = thread * W; c < p.channels; c += kThreads * W) {
    const Floats<W> values = load<W>(x, c);
#pragma unroll
    for (int k = 0; k < W; ++k) squares += (values.at[k] - mean) * (values.at[k] - mean);
  }
  const float variance = block_sum<kWarps>(squares, partial[1]) / static_cast<float>(p.channels);
  const float factor = 1.0F / sqrtf(variance + p.epsilon);
  if (thread == 0) {
    p.means[row] = mean;
    p.reciprocal_deviations[row] = factor;
  }
  for (std::int64_t c = thread * W; c < p.channels; c += kThreads * W) {
    Floats<W> values = load<W>(x, c);
    const Floats<W> gains = load<W>(p.gain, c), biases = load<W>(p.bias, c);
#pragma unroll
    for (int k = 0; k < W; ++k) values.at[k] = (values.at[k] - mean) * factor * gains.at[k] + biases.at[k];
    store(p.out, first + c, values);
  }
}

template <typename S, int W>
void launch_norm(const NormForward<S>& p, cudaStream_t stream) {
  constexpr int kFewWarps = 1, kManyWarps = 8;
  constexpr std::int64_t kFewChannels = 1024;  // 32 per lane: below it one warp is enough for a row
  const std::size_t row_bytes = static_cast<std::size_t>(p.channels) * sizeof(float);
  if (p.channels <= kFewChannels) {
    constexpr int kRows = 8;
    cuda_check(launch(normalize_rows<S, W, kFewWarps, kRows>,
                      dim3(static_cast<unsigned int>(blocks_for(p.rows, kRows))), dim3(kFewWarps * kRows * kWarpSize),
                      kRows * row_bytes, stream, p));
  } else {
    allow_shared_memory(normalize_rows<S, W, kManyWarps, 1>, row_bytes);
    cuda_check(launch(normalize_rows<S, W, kManyWarps, 1>, dim3(static_cast<unsigned int>(p.rows)),
                      dim3(kManyWarps * kWarpSize), row_bytes, stream, p));
  }
}

void normalize(Array out, Array sum, Array mean, Array reciprocal_deviation, ConstArray a, ConstArray b,
               ConstArray gain, ConstArray bias, double epsilon, Context context) {
  if (out.count() == 0) return;
  on_storage_type(out, [&](auto zero) {
    using S = decltype(zero);
    const NormForward<S> p{.out = out.as<S>(),
                           .sum = sum.as<S>(),
                           .means = mean.as<float>(),
                           .reciprocal_deviations = reciprocal_deviation.as<float>(),
                           .a = a.as<S>(),
                           .b = b.as<S>(),
                           .gain = gain.as<float>(),
                           .bias = bias.as<float>(),
                           .epsilon = static_cast<float>(epsilon),
                           .rows = out.rows,
                           .channels = out.columns};
    if (are_rows_aligned<S>(out.columns, out.data, sum.data, a.data, b.data, gain.data, bias.data)) {
      launch_norm<S, kPackWidth<S>>(p, context.stream);
    } else {
      launch_norm<S, 1>(p, context.stream);
    }
  });
}

}  // namespace

void layer_norm_forward(Array out, Array mean, Array reciprocal_deviation, ConstArray input, ConstArray gain,
                        ConstArray bias, double epsilon, Context context) {
  normalize(out, {}, mean, reciprocal_deviation, input, {}, gain, bias, epsilon, context);
}

void add_layer_norm_forward(Array out, Array sum, Array mean, Array reciprocal_deviation, ConstArray a, ConstArray b,
                            ConstArray gain, ConstArray bias, double epsilon, Context context) {
  normalize(out, sum, mean, reciprocal_deviation, a, b, gain, bias, epsilon, context);
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
