// Root mean square normalization, forward and backward, one warp per row. Letters: R rows, C channels.
// @source Zhang and Sennrich, "Root Mean Square Layer Normalization", NeurIPS 2019.
#include "kernels/cuda/launching.cuh"
#include "kernels/cuda/operations.hpp"
#include "kernels/cuda/packs.cuh"
#include "kernels/cuda/sums.cuh"
#include "kernels/cuda/types.cuh"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

namespace {

constexpr int kRows = 8;  // warps of a block

/// out = x * reciprocal * gain, row by row.
///
/// Launch: blocks_for(R, kRows) blocks of kRows warps, one row each. Traffic: reads a row twice, the second time from a
/// cache.
template <typename S>
__global__ void __launch_bounds__(kRows* kWarpSize)
    rms_normalize_rows(S* out, float* reciprocals, const S* input, const float* gain, float epsilon, std::int64_t rows,
                       std::int64_t channels) {
  const std::int64_t row = std::int64_t{blockIdx.x} * kRows + threadIdx.x / kWarpSize;
  if (row >= rows) return;  // a whole warp
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const S* const x = input + row * channels;
  float squares = 0.0F;
  for (std::int64_t c = lane; c < channels; c += kWarpSize) squares += load<1>(x, c).at[0] * load<1>(x, c).at[0];
  const float factor = 1.0F / sqrtf(warp_sum(squares) / static_cast<float>(channels) + epsilon);
  if (lane == 0) reciprocals[row] = factor;
  for (std::int64_t c = lane; c < channels; c += kWarpSize) {
    store(out, row * channels + c, Floats<1>{{load<1>(x, c).at[0] * factor * gain[c]}});
  }
}

/// Pointers of one call.
template <typename S>
struct RmsBackward {
  S* input_gradient;
  Write write;
  float* of_gain;  // [R, C]: out_gradient * n, whose sum over rows is the gain's gradient; null: not requested
  const S *out_gradient, *input;
  const float *reciprocals, *gain;
  std::int64_t rows, channels;
};

/// With n the normalized row and g = out_gradient * gain: input_gradient (+)= (g - n mean(g n)) * reciprocal.
/// Launch and traffic as rms_normalize_rows, for two inputs.
template <typename S>
__global__ void __launch_bounds__(kRows* kWarpSize) rms_normalize_rows_backward(RmsBackward<S> p) {
  const std::int64_t row = std::int64_t{blockIdx.x} * kRows + threadIdx.x / kWarpSize;
  if (row >= p.rows) return;  // a whole warp
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const std::int64_t first = row * p.channels;
  const float factor = p.reciprocals[row];
  float sum = 0.0F;
  for (std::int64_t c = lane; c < p.channels; c += kWarpSize) {
    sum += load<1>(p.out_gradient, first + c).at[0] * p.gain[c] * load<1>(p.input, first + c).at[0];
  }
  const float mean = warp_sum(sum) * factor / static_cast<float>(p.channels);
  for (std::int64_t c = lane; c < p.channels; c += kWarpSize) {
    const float dy = load<1>(p.out_gradient, first + c).at[0];
    const float n = load<1>(p.input, first + c).at[0] * factor;
    if (p.of_gain != nullptr) p.of_gain[first + c] = dy * n;
    write_pack(p.input_gradient, first + c, Floats<1>{{(dy * p.gain[c] - n * mean) * factor}}, p.write);
  }
}

dim3 blocks_of(const ConstArray& array) { return dim3(static_cast<unsigned int>(blocks_for(array.rows, kRows))); }

}  // namespace

void rms_norm_forward(Array out, Array reciprocal, ConstArray input, ConstArray gain, double epsilon, Context context) {
  if (out.count() == 0) return;
  on_storage_type(out, [&](auto zero) {
    using S = decltype(zero);
    cuda_check(launch(rms_normalize_rows<S>, blocks_of(out), dim3(kRows * kWarpSize), 0, context.stream, out.as<S>(),
                      reciprocal.as<float>(), input.as<S>(), gain.as<float>(), static_cast<float>(epsilon), out.rows,
                      out.columns));
  });
}

void rms_norm_backward(Array input_gradient, Write write, Array gain_gradient, Write gain_write,
                       ConstArray out_gradient, ConstArray reciprocal, ConstArray input, ConstArray gain,
                       Context context) {
  if (input.count() == 0) {
    if (gain_gradient.is_defined() && gain_write == Write::kOverwrite) fill(gain_gradient, 0.0, context);
    return;
  }
  Array of_gain;
  if (gain_gradient.is_defined()) {
    of_gain = {context.scratch->take<float>(input.count()), input.rows, input.columns, DType::kFloat32};
  }
  on_storage_type(input, [&](auto zero) {
    using S = decltype(zero);
    const RmsBackward<S> p{.input_gradient = input_gradient.as<S>(),
                           .write = write,
                           .of_gain = of_gain.as<float>(),
                           .out_gradient = out_gradient.as<S>(),
                           .input = input.as<S>(),
                           .reciprocals = reciprocal.as<float>(),
                           .gain = gain.as<float>(),
                           .rows = input.rows,
                           .channels = input.columns};
    cuda_check(launch(rms_normalize_rows_backward<S>, blocks_of(input), dim3(kRows * kWarpSize), 0, context.stream, p));
  });
  if (gain_gradient.is_defined()) bias_gradient(gain_gradient, gain_write, of_gain, context);
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
