#include <cmath>

#include "kernels/cpu/bfloat16.hpp"
#include "kernels/cpu/check.hpp"
#include "kernels/cpu/column_sums.hpp"
#include "kernels/cpu/ops.hpp"
#include "kernels/cpu/parallel.hpp"

namespace lockstep::kernels::cpu {

namespace {

constexpr std::int64_t kRows = 16;  // per task

/// Inputs and outputs of the backward pass, as plain arrays.
template <typename S>
struct Backward {
  using T = Compute<S>;

  S* input_gradient;
  Write write;
  const S *out_gradient, *input;
  const T *reciprocal, *gain;
  std::int64_t channels;

  /// With n the normalized row and g = out_gradient * gain: input_gradient = (g - n mean(g n)) * reciprocal.
  void run_row(std::int64_t row) const {
    const S *const dy = out_gradient + row * channels, *const x = input + row * channels;
    const T factor = reciprocal[row];
    Vector<T> sums{};
    for_each_vector<T>(channels, [&](std::int64_t c, auto lanes) {
      sums += load(dy + c, lanes) * load(gain + c, lanes) * load(x + c, lanes);
    });
    const T mean = sum_of<T>(sums) * factor / static_cast<T>(channels);
    S* const dx = input_gradient + row * channels;
    for_each_vector<T>(channels, [&](std::int64_t c, auto lanes) {
      const Vector<T> g = load(dy + c, lanes) * load(gain + c, lanes);
      const Vector<T> gradient = (g - load(x + c, lanes) * factor * mean) * factor;
      store(dx + c, write == Write::kAdd ? load(dx + c, lanes) + gradient : gradient, lanes);
    });
  }

  /// Adds the row's contribution to the gain's gradient.
  void add_to_gain(std::int64_t row, T* sums) const {
    const S *const dy = out_gradient + row * channels, *const x = input + row * channels;
    for_each_vector<T>(channels, [&, factor = reciprocal[row]](std::int64_t c, auto lanes) {
      store(sums + c, load(sums + c, lanes) + load(dy + c, lanes) * load(x + c, lanes) * factor, lanes);
    });
  }
};

}  // namespace

void rms_norm_forward(const Tensor& out, const Tensor& reciprocal, const Tensor& input, const Tensor& gain,
                      double epsilon) {
  on_device_and_storage_type("rms_norm_forward", out, [&](auto zero) {
    using S = decltype(zero);
    using T = Compute<S>;
    require_like("rms_norm_forward", "input", input, out);
    require_count("rms_norm_forward", "reciprocal", reciprocal, rows_of(out), dtype_of<T>);
    require_count("rms_norm_forward", "gain", gain, columns_of(out), dtype_of<T>);
    const std::int64_t channels = columns_of(out);
    S* const to = data_of<S>(out);
    const S* const from = data_of<const S>(input);
    T* const factors = data_of<T>(reciprocal);
    const T* const gains = data_of<const T>(gain);
    parallel_blocks(rows_of(out), kRows, out.count(), [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const S* const x = from + row * channels;
        Vector<T> squares{};
        for_each_vector<T>(channels, [&](std::int64_t c, auto lanes) {
          const Vector<T> values = load(x + c, lanes);
          squares += values * values;
        });
        const T mean = sum_of<T>(squares) / static_cast<T>(channels);
        const T factor = factors[row] = T{1} / std::sqrt(mean + static_cast<T>(epsilon));
        for_each_vector<T>(channels, [=, y = to + row * channels](std::int64_t c, auto lanes) {
          store(y + c, load(x + c, lanes) * factor * load(gains + c, lanes), lanes);
        });
      }
    });
  });
}

void rms_norm_backward(const Tensor& input_gradient, Write write, const Tensor& gain_gradient, Write gain_write,
                       const Tensor& out_gradient, const Tensor& reciprocal, const Tensor& input, const Tensor& gain) {
  on_device_and_storage_type("rms_norm_backward", input_gradient, [&](auto zero) {
    using S = decltype(zero);
    using T = Compute<S>;
    require_like("rms_norm_backward", "out gradient", out_gradient, input_gradient);
    require_like("rms_norm_backward", "input", input, input_gradient);
    require_count("rms_norm_backward", "reciprocal", reciprocal, rows_of(input), dtype_of<T>);
    require_count("rms_norm_backward", "gain", gain, columns_of(input), dtype_of<T>);
    const std::int64_t rows = rows_of(input), channels = columns_of(input);
    const Backward<S> backward{.input_gradient = data_of<S>(input_gradient),
                               .write = write,
                               .out_gradient = data_of<const S>(out_gradient),
                               .input = data_of<const S>(input),
                               .reciprocal = data_of<const T>(reciprocal),
                               .gain = data_of<const T>(gain),
                               .channels = channels};
    if (gain_gradient.is_defined()) {  // first: the input's gradient may overwrite out_gradient
      require_count("rms_norm_backward", "gain gradient", gain_gradient, channels, dtype_of<T>);
      column_sums<T, 1>({data_of<T>(gain_gradient)}, gain_write, rows, channels,
                        [&](std::int64_t begin, std::int64_t end, const std::array<T*, 1>& sums) {
                          for (std::int64_t row = begin; row < end; ++row) backward.add_to_gain(row, sums[0]);
                        });
    }
    parallel_blocks(rows, kRows, input.count(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) backward.run_row(row);
    });
  });
}

}  // namespace lockstep::kernels::cpu
