// GELU in the tanh form, x/2 (1 + tanh(u)) = x / (1 + e^(-2u)) with u = sqrt(2/pi) (x + 0.044715 x^3).
// Memory is the bound: the loads hide the cost of the accurate exponential.
#include "kernels/cuda/map.cuh"
#include "kernels/cuda/operations.hpp"
#include "kernels/cuda/types.cuh"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

namespace {

constexpr float kLinear = 1.5957691216057308F;  // 2 sqrt(2/pi), of 2u
constexpr float kCubic = 0.044715F;

__device__ inline float gate(float x) { return 1.0F / (1.0F + expf(-kLinear * (x + kCubic * x * x * x))); }

/// The derivative. @param s  gate(x).
__device__ inline float gelu_slope(float x, float s) {
  return s + x * s * (1.0F - s) * kLinear * (1.0F + 3.0F * kCubic * x * x);
}

template <typename S>
struct GeluForward {
  S* out;
  const S* input;

  template <int W>
  __device__ void run(std::int64_t i) const {
    Floats<W> values = load<W>(input, i);
#pragma unroll
    for (int k = 0; k < W; ++k) values.at[k] *= gate(values.at[k]);
    store(out, i, values);
  }
};

template <typename S>
struct GeluBackward {
  S* input_gradient;
  Write write;
  const S *out_gradient, *input;

  template <int W>
  __device__ void run(std::int64_t i) const {
    Floats<W> values = load<W>(out_gradient, i);
    const Floats<W> x = load<W>(input, i);
#pragma unroll
    for (int k = 0; k < W; ++k) values.at[k] *= gelu_slope(x.at[k], gate(x.at[k]));
    write_pack(input_gradient, i, values, write);
  }
};

template <typename S>
struct GeluBackwardAgain {
  S *out, *gradient;
  const S* input;

  template <int W>
  __device__ void run(std::int64_t i) const {
    Floats<W> x = load<W>(input, i), slopes = load<W>(gradient, i);
#pragma unroll
    for (int k = 0; k < W; ++k) {
      const float s = gate(x.at[k]);
      slopes.at[k] *= gelu_slope(x.at[k], s);
      x.at[k] *= s;
    }
    store(out, i, x);
    store(gradient, i, slopes);
  }
};

}  // namespace

void gelu_forward(Array out, ConstArray input, Context context) {
  on_storage_type(out, [&](auto zero) {
    using S = decltype(zero);
    map<S>(GeluForward<S>{out.as<S>(), input.as<S>()}, out.count(), are_aligned(out.data, input.data), context.stream);
  });
}

void gelu_backward(Array input_gradient, Write write, ConstArray out_gradient, ConstArray input, Context context) {
  on_storage_type(input, [&](auto zero) {
    using S = decltype(zero);
    const GeluBackward<S> operation{input_gradient.as<S>(), write, out_gradient.as<S>(), input.as<S>()};
    map<S>(operation, input.count(), are_aligned(input_gradient.data, out_gradient.data, input.data), context.stream);
  });
}

void gelu_backward_again(Array out, Array gradient, ConstArray input, Context context) {
  on_storage_type(input, [&](auto zero) {
    using S = decltype(zero);
    const GeluBackwardAgain<S> operation{out.as<S>(), gradient.as<S>(), input.as<S>()};
    map<S>(operation, input.count(), are_aligned(out.data, gradient.data, input.data), context.stream);
  });
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
