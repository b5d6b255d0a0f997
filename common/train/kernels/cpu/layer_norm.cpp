#include <cmath>

#include "kernels/cpu/bfloat16.hpp"
#include "kernels/cpu/column_sums.hpp"
#include "kernels/cpu/operations.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/types.hpp"

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

/// Normalizes each row of `input`. Calls prepare(row) first, which computes the row if that is needed.
template <typename S, typename Prepare>
void normalize_rows(const Array& out, const Array& mean_of, const Array& reciprocal_deviation, const S* input,
                    const ConstArray& gain, const ConstArray& bias, double epsilon, const Prepare& prepare) {
  using T = Compute<S>;
  const std::int64_t channels = out.columns;
  S* const to = out.as<S>();
  T *const means = mean_of.as<T>(), *const deviations = reciprocal_deviation.as<T>();
  const T *const gains = gain.as<T>(), *const biases = bias.as<T>();
  parallel_blocks(out.rows, 16, out.count(), [&, channels](std::int64_t begin, std::int64_t end) {
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

void layer_norm_forward(Array out, Array mean, Array reciprocal_deviation, ConstArray input, ConstArray gain,
                        ConstArray bias, double epsilon, Context) {
  on_storage_type(out, [&]<typename S, typename>() {
    normalize_rows(out, mean, reciprocal_deviation, input.as<S>(), gain, bias, epsilon, [](std::int64_t) {});
  });
}

void add_layer_norm_forward(Array out, Array sum, Array mean, Array reciprocal_deviation, ConstArray a, ConstArray b,
                            ConstArray gain, ConstArray bias, double epsilon, Context) {
  on_storage_type(out, [&]<typename S, typename T>() {
    S* const to = sum.as<S>();
    const S *const left = a.as<S>(), *const right = b.as<S>();
    const auto add_row = [=, channels = out.columns](std::int64_t row) {
      for_each_vector<T>(channels, [=, first = row * channels](std::int64_t c, auto lanes) {
        const std::int64_t i = first + c;
        store(to + i, load(left + i, lanes) + load(right + i, lanes), lanes);
      });
    };
    normalize_rows<S>(out, mean, reciprocal_deviation, to, gain, bias, epsilon, add_row);
  });
}

void layer_norm_backward(Array input_gradient, ConstArray out_gradient, ConstArray mean,
                         ConstArray reciprocal_deviation, ConstArray input, ConstArray gain, Array gain_gradient,
                         Array bias_gradient, Write parameter_write, ConstArray skip_gradient, Context) {
  on_storage_type(input_gradient, [&]<typename S, typename T>() {
    const Backward<S> backward{.input_gradient = input_gradient.as<S>(),
                               .out_gradient = out_gradient.as<S>(),
                               .input = input.as<S>(),
                               .skip = skip_gradient.as<S>(),
                               .gain = gain.as<T>(),
                               .means = mean.as<T>(),
                               .deviations = reciprocal_deviation.as<T>(),
                               .channels = input.columns};
    column_sums<T, 2>({gain_gradient.as<T>(), bias_gradient.as<T>()}, parameter_write, input.rows, input.columns,
                      [&](std::int64_t begin, std::int64_t end, const std::array<T*, 2>& sums) {
                        for (std::int64_t row = begin; row < end; ++row) backward.run_row(row, sums[0], sums[1]);
                      });
  });
}

}  // namespace lockstep::kernels::cpu
