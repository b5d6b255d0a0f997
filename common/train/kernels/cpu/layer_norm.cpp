#include <cmath>

#include "kernels/cpu/bfloat16.hpp"
#include "kernels/cpu/check.hpp"
#include "kernels/cpu/column_sums.hpp"
#include "kernels/cpu/ops.hpp"
#include "kernels/cpu/parallel.hpp"

namespace lockstep::kernels::cpu {

namespace {

template <typename T>
struct Row {
  T mean, reciprocal_deviation;
};

/// Mean and 1 / sqrt(variance + epsilon) of one row, in two passes while the row is in cache.
template <typename T>
Row<T> statistics_of(const T* x, std::int64_t channels, T epsilon) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t c = 0; c < channels; ++c) sum += x[c];
  const T mean = sum / static_cast<T>(channels);
  T squares = 0;
#pragma omp simd reduction(+ : squares)
  for (std::int64_t c = 0; c < channels; ++c) squares += (x[c] - mean) * (x[c] - mean);
  return {mean, T{1} / std::sqrt(squares / static_cast<T>(channels) + epsilon)};
}

/// The same for a row stored in bfloat16.
Row<float> statistics_of(const BFloat16* x, std::int64_t channels, float epsilon) {
  Vector<float> sums{}, squares{};
  for_each_vector<float>(channels, [&](std::int64_t c, auto lanes) { sums += load(x + c, lanes); });
  const float mean = sum_of<float>(sums) / static_cast<float>(channels);
  for_each_vector<float>(channels, [&](std::int64_t c, auto lanes) {
    Vector<float> difference = load(x + c, lanes) - mean;
    if constexpr (std::is_same_v<decltype(lanes), int>) {
      difference = lane_numbers<float>() < static_cast<float>(lanes) ? difference : Vector<float>{};
    }
    squares += difference * difference;
  });
  return {mean, 1.0F / std::sqrt(sum_of<float>(squares) / static_cast<float>(channels) + epsilon)};
}

void require_norm(std::string_view operation, const Tensor& like, const LayerNormStatistics& statistics,
                  const Tensor& gain, const Tensor& bias) {
  const DType dtype = accumulation_dtype(like.dtype());
  require_count(operation, "mean", statistics.mean, rows_of(like), dtype);
  require_count(operation, "deviation", statistics.reciprocal_deviation, rows_of(like), dtype);
  require_count(operation, "gain", gain, columns_of(like), dtype);
  require_count(operation, "bias", bias, columns_of(like), dtype);
}

/// Normalizes each row of `input`, after prepare(row) has computed it.
template <typename S, typename Prepare>
void normalize_rows(const Tensor& out, const LayerNormStatistics& statistics, const S* input, const Tensor& gain,
                    const Tensor& bias, double epsilon, const Prepare& prepare) {
  using T = Compute<S>;
  const std::int64_t channels = columns_of(out);
  S* const to = data_of<S>(out);
  T *const means = data_of<T>(statistics.mean), *const deviations = data_of<T>(statistics.reciprocal_deviation);
  const T *const gains = data_of<const T>(gain), *const biases = data_of<const T>(bias);
  parallel_blocks(rows_of(out), 16, out.count(), [&, channels](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      prepare(row);
      const S* const x = input + row * channels;
      S* const y = to + row * channels;
      const auto [mean, reciprocal] = statistics_of(x, channels, static_cast<T>(epsilon));
      means[row] = mean;
      deviations[row] = reciprocal;
      const T shift = mean, factor = reciprocal;
      for_each_vector<T>(channels, [=](std::int64_t c, auto lanes) {
        const Vector<T> normalized = (load(x + c, lanes) - shift) * factor;
        store(y + c, normalized * load(gains + c, lanes) + load(biases + c, lanes), lanes);
      });
    }
  });
}

/// Inputs and outputs of the backward pass, as plain arrays.
template <typename S>
struct Backward {
  using T = Compute<S>;

  S* input_gradient;
  const S *out_gradient, *input, *skip;
  const T *gain, *means, *deviations;
  std::int64_t channels;

  /// With n the normalized row and g = out_gradient * gain:
  /// input_gradient = (g - mean(g) - n mean(g n)) / deviation + skip.
  void run_row(std::int64_t row, T* gain_sums, T* bias_sums) const {
    const S *const dy = out_gradient + row * channels, *const x = input + row * channels;
    const T mean = means[row], factor = deviations[row];
    Vector<T> sums{}, weighted_sums{};
    for_each_vector<T>(channels, [&](std::int64_t c, auto lanes) {
      const Vector<T> gradient = load(dy + c, lanes), g = gradient * load(gain + c, lanes);
      const Vector<T> normalized = (load(x + c, lanes) - mean) * factor;
      sums += g;
      weighted_sums += g * normalized;
      store(gain_sums + c, load(gain_sums + c, lanes) + gradient * normalized, lanes);
      store(bias_sums + c, load(bias_sums + c, lanes) + gradient, lanes);
    });
    const T mean_g = sum_of<T>(sums) / static_cast<T>(channels);
    const T mean_gn = sum_of<T>(weighted_sums) / static_cast<T>(channels);
    S* const dx = input_gradient + row * channels;
    const S* const added = skip == nullptr ? nullptr : skip + row * channels;
    for_each_vector<T>(channels, [&](std::int64_t c, auto lanes) {
      const Vector<T> g = load(dy + c, lanes) * load(gain + c, lanes);
      Vector<T> gradient = (g - mean_g - (load(x + c, lanes) - mean) * factor * mean_gn) * factor;
      if (added != nullptr) gradient += load(added + c, lanes);
      store(dx + c, gradient, lanes);
    });
  }
};

}  // namespace

void layer_norm_forward(const Tensor& out, const LayerNormStatistics& statistics, const Tensor& input,
                        const Tensor& gain, const Tensor& bias, double epsilon) {
  on_device_and_storage_type("layer_norm_forward", out, [&](auto zero) {
    using S = decltype(zero);
    require_like("layer_norm_forward", "input", input, out);
    require_norm("layer_norm_forward", out, statistics, gain, bias);
    normalize_rows(out, statistics, data_of<S>(input), gain, bias, epsilon, [](std::int64_t) {});
  });
}

void add_layer_norm_forward(const Tensor& out, const Tensor& sum, const LayerNormStatistics& statistics,
                            const Tensor& a, const Tensor& b, const Tensor& gain, const Tensor& bias, double epsilon) {
  on_device_and_storage_type("add_layer_norm_forward", out, [&](auto zero) {
    using S = decltype(zero);
    for (const Tensor* tensor : {&sum, &a, &b}) require_like("add_layer_norm_forward", "a term", *tensor, out);
    require_norm("add_layer_norm_forward", out, statistics, gain, bias);
    const std::int64_t channels = columns_of(out);
    S* const to = data_of<S>(sum);
    const S *const left = data_of<S>(a), *const right = data_of<S>(b);
    normalize_rows(out, statistics, data_of<S>(sum), gain, bias, epsilon, [=](std::int64_t row) {
      for_each_vector<Compute<S>>(channels, [=, first = row * channels](std::int64_t c, auto lanes) {
        const std::int64_t i = first + c;
        store(to + i, load(left + i, lanes) + load(right + i, lanes), lanes);
      });
    });
  });
}

void layer_norm_backward(const Tensor& input_gradient, const Tensor& out_gradient,
                         const LayerNormStatistics& statistics, const Tensor& input, const Tensor& gain,
                         const Tensor& gain_gradient, const Tensor& bias_gradient, Write parameter_write,
                         const Tensor& skip_gradient) {
  on_device_and_storage_type("layer_norm_backward", input_gradient, [&](auto zero) {
    using S = decltype(zero);
    using T = Compute<S>;
    require_like("layer_norm_backward", "out gradient", out_gradient, input_gradient);
    require_like("layer_norm_backward", "input", input, input_gradient);
    if (skip_gradient.is_defined()) {
      require_like("layer_norm_backward", "skip gradient", skip_gradient, input_gradient);
    }
    require_norm("layer_norm_backward", input, statistics, gain, gain);
    require_norm("layer_norm_backward", input, statistics, gain_gradient, bias_gradient);
    const Backward<S> backward{.input_gradient = data_of<S>(input_gradient),
                               .out_gradient = data_of<S>(out_gradient),
                               .input = data_of<S>(input),
                               .skip = data_of<S>(skip_gradient),
                               .gain = data_of<const T>(gain),
                               .means = data_of<T>(statistics.mean),
                               .deviations = data_of<T>(statistics.reciprocal_deviation),
                               .channels = columns_of(input)};
    column_sums<T, 2>({data_of<T>(gain_gradient), data_of<T>(bias_gradient)}, parameter_write, rows_of(input),
                      columns_of(input), [&](std::int64_t begin, std::int64_t end, const std::array<T*, 2>& sums) {
                        for (std::int64_t row = begin; row < end; ++row) backward.run_row(row, sums[0], sums[1]);
                      });
  });
}

}  // namespace lockstep::kernels::cpu
