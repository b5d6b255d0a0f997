#include <cmath>
#include <numbers>

#include "kernels/cpu/map.hpp"
#include "kernels/cpu/operations.hpp"

namespace lockstep::kernels::cpu {

namespace {

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

void gelu_forward(Array out, ConstArray input, Context) {
  map(out, Write::kOverwrite, {input}, []<typename T>(Vector<T> x) { return x * gate<T>(x); });
}

void gelu_backward_again(Array out, Array gradient, ConstArray input, Context) {
  on_storage_type(out, [&]<typename S, typename T>() {
    S *const result = out.as<S>(), *const in_place = gradient.as<S>();
    const S* const x = input.as<S>();
    map_blocks(out.count(), [=](std::int64_t begin, std::int64_t end) {
      for_each_vector<T>(end - begin, [=, y = result + begin, d = in_place + begin](std::int64_t i, auto lanes) {
        const Vector<T> values = load(x + begin + i, lanes), s = gate<T>(values);
        store(y + i, values * s, lanes);
        store(d + i, load(d + i, lanes) * gelu_slope<T>(values, s), lanes);
      });
    });
  });
}

void gelu_backward(Array input_gradient, Write write, ConstArray out_gradient, ConstArray input, Context) {
  map(input_gradient, write, {out_gradient, input},
      []<typename T>(Vector<T> dy, Vector<T> x) { return dy * gelu_slope<T>(x, gate<T>(x)); });
}

}  // namespace lockstep::kernels::cpu
