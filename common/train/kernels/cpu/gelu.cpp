#include <cmath>
#include <numbers>

#include "kernels/cpu/bfloat16.hpp"
#include "kernels/cpu/check.hpp"
#include "kernels/cpu/ops.hpp"
#include "kernels/cpu/parallel.hpp"

namespace lockstep::kernels::cpu {

namespace {

constexpr std::int64_t kBlock = 4096;  // elements per task

// x/2 (1 + tanh(u)) = x / (1 + e^(-2u)) with u = sqrt(2/pi) (x + 0.044715 x^3).
template <typename T>
constexpr T kLinear = static_cast<T>(2.0 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi);  // of 2u
template <typename T>
constexpr T kCubic = static_cast<T>(0.044715);

template <typename T>
Vector<T> gate(Vector<T> x) {
  return T{1} / (T{1} + fast_exp(-kLinear<T> * (x + kCubic<T> * x * x * x)));
}

/// @param s  gate(x).
template <typename T>
Vector<T> gelu_slope(Vector<T> x, Vector<T> s) {
  return s + x * s * (T{1} - s) * kLinear<T> * (T{1} + T{3} * kCubic<T> * x * x);
}

}  // namespace

void gelu_forward(const Tensor& out, const Tensor& input) {
  on_device_and_storage_type("gelu_forward", out, [&](auto zero) {
    using S = decltype(zero);
    using T = Compute<S>;
    require_like("gelu_forward", "input", input, out);
    S* const to = data_of<S>(out);
    const S* const from = data_of<S>(input);
    parallel_blocks(out.count(), kBlock, out.count(), [=](std::int64_t begin, std::int64_t end) {
      for_each_vector<T>(end - begin, [=, y = to + begin, x = from + begin](std::int64_t i, auto lanes) {
        const Vector<T> values = load(x + i, lanes);
        store(y + i, values * gate<T>(values), lanes);
      });
    });
  });
}

void gelu_backward_again(const Tensor& out, const Tensor& gradient, const Tensor& input) {
  on_device_and_storage_type("gelu_backward_again", out, [&](auto zero) {
    using S = decltype(zero);
    using T = Compute<S>;
    require_like("gelu_backward_again", "gradient", gradient, out);
    require_like("gelu_backward_again", "input", input, out);
    S *const result = data_of<S>(out), *const in_place = data_of<S>(gradient);
    const S* const x = data_of<S>(input);
    parallel_blocks(out.count(), kBlock, out.count(), [=](std::int64_t begin, std::int64_t end) {
      for_each_vector<T>(end - begin, [=, y = result + begin, d = in_place + begin](std::int64_t i, auto lanes) {
        const Vector<T> values = load(x + begin + i, lanes), s = gate<T>(values);
        store(y + i, values * s, lanes);
        store(d + i, load(d + i, lanes) * gelu_slope<T>(values, s), lanes);
      });
    });
  });
}

void gelu_backward(const Tensor& input_gradient, Write write, const Tensor& out_gradient, const Tensor& input) {
  on_device_and_storage_type("gelu_backward", input_gradient, [&](auto zero) {
    using S = decltype(zero);
    using T = Compute<S>;
    require_like("gelu_backward", "out gradient", out_gradient, input_gradient);
    require_like("gelu_backward", "input", input, input_gradient);
    S* const to = data_of<S>(input_gradient);
    const S *const from = data_of<S>(out_gradient), *const x = data_of<S>(input);
    parallel_blocks(input.count(), kBlock, input.count(), [=](std::int64_t begin, std::int64_t end) {
      for_each_vector<T>(end - begin, [&, dx = to + begin](std::int64_t i, auto lanes) {
        const Vector<T> values = load(x + begin + i, lanes);
        const Vector<T> gradient = load(from + begin + i, lanes) * gelu_slope<T>(values, gate<T>(values));
        store(dx + i, write == Write::kAdd ? load(dx + i, lanes) + gradient : gradient, lanes);
      });
    });
  });
}

}  // namespace lockstep::kernels::cpu
