#include <cmath>

#include "kernels/cpu/bfloat16.hpp"
#include "kernels/cpu/column_sums.hpp"
#include "kernels/cpu/operations.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/types.hpp"

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

void rms_norm_forward(Array out, Array reciprocal, ConstArray input, ConstArray gain, double epsilon, Context) {
  on_storage_type(out, [&]<typename S, typename T>() {
    const std::int64_t channels = out.columns;
    S* const to = out.as<S>();
    const S* const from = input.as<S>();
    T* const factors = reciprocal.as<T>();
    const T* const gains = gain.as<T>();
    parallel_blocks(out.rows, kRows, out.count(), [=](std::int64_t begin, std::int64_t end) {
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

void rms_norm_backward(Array input_gradient, Write write, Array gain_gradient, Write gain_write,
                       ConstArray out_gradient, ConstArray reciprocal, ConstArray input, ConstArray gain, Context) {
  on_storage_type(input, [&]<typename S, typename T>() {
    const Backward<S> backward{.input_gradient = input_gradient.as<S>(),
                               .write = write,
                               .out_gradient = out_gradient.as<S>(),
                               .input = input.as<S>(),
                               .reciprocal = reciprocal.as<T>(),
                               .gain = gain.as<T>(),
                               .channels = input.columns};
    if (gain_gradient.is_defined()) {  // first: the input's gradient may overwrite out_gradient
      column_sums<T, 1>({gain_gradient.as<T>()}, gain_write, input.rows, input.columns,
                        [&](std::int64_t begin, std::int64_t end, const std::array<T*, 1>& sums) {
                          for (std::int64_t row = begin; row < end; ++row) backward.add_to_gain(row, sums[0]);
                        });
    }
    parallel_blocks(input.rows, kRows, input.count(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) backward.run_row(row);
    });
  });
}

}  // namespace lockstep::kernels::cpu
