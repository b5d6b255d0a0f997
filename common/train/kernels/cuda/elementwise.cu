// Operations on one element at a time. Each is a struct of pointers; kernels/cuda/map.cuh assigns elements to threads.
// Traffic: each operand once. Memory is the bound, so arithmetic is free.
#include "kernels/cuda/map.cuh"
#include "kernels/cuda/operations.hpp"
#include "kernels/cuda/types.cuh"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

namespace {

struct Fill {
  float* out;
  float value;

  template <int W>
  __device__ void run(std::int64_t i) const {
    Floats<W> values;
#pragma unroll
    for (int k = 0; k < W; ++k) values.at[k] = value;
    store(out, i, values);
  }
};

template <typename To, typename From>
struct Cast {
  To* out;
  const From* input;

  template <int W>
  __device__ void run(std::int64_t i) const {
    store(out, i, load<W>(input, i));
  }
};

/// out = a + factor b.
template <typename S>
struct AddScaled {
  S* out;
  const S *a, *b;
  float factor;

  template <int W>
  __device__ void run(std::int64_t i) const {
    Floats<W> values = load<W>(a, i);
    const Floats<W> added = load<W>(b, i);
#pragma unroll
    for (int k = 0; k < W; ++k) values.at[k] += factor * added.at[k];
    store(out, i, values);
  }
};

template <typename S>
struct Scale {
  S* out;
  float factor;

  template <int W>
  __device__ void run(std::int64_t i) const {
    Floats<W> values = load<W>(out, i);
#pragma unroll
    for (int k = 0; k < W; ++k) values.at[k] *= factor;
    store(out, i, values);
  }
};

/// out[r, c] = input[r, c] + bias[c]. A pack never crosses a row: W divides the columns.
struct AddBias {
  float* out;
  const float *input, *bias;
  std::int64_t columns;

  template <int W>
  __device__ void run(std::int64_t i) const {
    Floats<W> values = load<W>(input, i);
    const Floats<W> added = load<W>(bias, i % columns);
#pragma unroll
    for (int k = 0; k < W; ++k) values.at[k] += added.at[k];
    store(out, i, values);
  }
};

template <typename S>
struct ReluForward {
  S* out;
  const S* input;

  template <int W>
  __device__ void run(std::int64_t i) const {
    Floats<W> values = load<W>(input, i);
#pragma unroll
    for (int k = 0; k < W; ++k) values.at[k] = values.at[k] <= 0.0F ? 0.0F : values.at[k];  // this way NaN stays NaN
    store(out, i, values);
  }
};

template <typename S>
struct ReluBackward {
  S* input_gradient;
  Write write;
  const S *out_gradient, *out;

  template <int W>
  __device__ void run(std::int64_t i) const {
    Floats<W> values = load<W>(out_gradient, i);
    const Floats<W> result = load<W>(out, i);
#pragma unroll
    for (int k = 0; k < W; ++k) values.at[k] = result.at[k] <= 0.0F ? 0.0F : values.at[k];
    write_pack(input_gradient, i, values, write);
  }
};

template <typename S>
struct Exponential {
  S* out;
  const S* input;

  template <int W>
  __device__ void run(std::int64_t i) const {
    Floats<W> values = load<W>(input, i);
#pragma unroll
    for (int k = 0; k < W; ++k) values.at[k] = expf(values.at[k]);
    store(out, i, values);
  }
};

template <typename S>
struct SiluForward {
  S* out;
  const S* input;

  template <int W>
  __device__ void run(std::int64_t i) const {
    Floats<W> values = load<W>(input, i);
#pragma unroll
    for (int k = 0; k < W; ++k) values.at[k] /= 1.0F + expf(-values.at[k]);
    store(out, i, values);
  }
};

template <typename S>
struct SiluBackward {
  S* input_gradient;
  Write write;
  const S *out_gradient, *input;

  template <int W>
  __device__ void run(std::int64_t i) const {
    Floats<W> values = load<W>(out_gradient, i);
    const Floats<W> x = load<W>(input, i);
#pragma unroll
    for (int k = 0; k < W; ++k) {
      const float gate = 1.0F / (1.0F + expf(-x.at[k]));
      values.at[k] *= gate * (1.0F + x.at[k] * (1.0F - gate));
    }
    write_pack(input_gradient, i, values, write);
  }
};

}  // namespace

void fill(Array out, double value, Context context) {
  map<float>(Fill{out.as<float>(), static_cast<float>(value)}, out.count(), are_aligned(out.data), context.stream);
}

void copy(Array out, ConstArray input, Context context) {
  if (out.count() == 0 || out.data == input.data) return;
  cuda_check(cudaMemcpyAsync(out.data, input.data, out.bytes(), cudaMemcpyDeviceToDevice, context.stream));
}

void cast(Array out, ConstArray input, Context context) {
  const bool is_aligned = are_aligned(out.data, input.data);
  const bool is_widening = out.dtype == DType::kFloat32;
  on_reduced_type(is_widening ? input : ConstArray(out), [&](auto zero) {
    using S = decltype(zero);
    if (is_widening) {
      map<float>(Cast<float, S>{out.as<float>(), input.as<S>()}, out.count(), is_aligned, context.stream);
    } else {
      map<float>(Cast<S, float>{out.as<S>(), input.as<float>()}, out.count(), is_aligned, context.stream);
    }
  });
}

void add(Array out, ConstArray a, ConstArray b, Context context) {
  on_storage_type(out, [&](auto zero) {
    using S = decltype(zero);
    map<S>(AddScaled<S>{out.as<S>(), a.as<S>(), b.as<S>(), 1.0F}, out.count(), are_aligned(out.data, a.data, b.data),
           context.stream);
  });
}

void add_scaled(Array out, double factor, ConstArray input, Context context) {
  on_storage_type(out, [&](auto zero) {
    using S = decltype(zero);
    map<S>(AddScaled<S>{out.as<S>(), out.as<S>(), input.as<S>(), static_cast<float>(factor)}, out.count(),
           are_aligned(out.data, input.data), context.stream);
  });
}

void scale(Array out, double factor, Context context) {
  on_storage_type(out, [&](auto zero) {
    using S = decltype(zero);
    map<S>(Scale<S>{out.as<S>(), static_cast<float>(factor)}, out.count(), are_aligned(out.data), context.stream);
  });
}

void add_bias(Array out, ConstArray input, ConstArray bias, Context context) {
  const AddBias operation{out.as<float>(), input.as<float>(), bias.as<float>(), out.columns};
  const bool is_aligned = are_rows_aligned<float>(out.columns, out.data, input.data, bias.data);
  map<float>(operation, out.count(), is_aligned, context.stream);
}

void relu_forward(Array out, ConstArray input, Context context) {
  on_storage_type(out, [&](auto zero) {
    using S = decltype(zero);
    map<S>(ReluForward<S>{out.as<S>(), input.as<S>()}, out.count(), are_aligned(out.data, input.data), context.stream);
  });
}

void relu_backward(Array input_gradient, Write write, ConstArray out_gradient, ConstArray out, Context context) {
  on_storage_type(out, [&](auto zero) {
    using S = decltype(zero);
    const ReluBackward<S> operation{input_gradient.as<S>(), write, out_gradient.as<S>(), out.as<S>()};
    map<S>(operation, out.count(), are_aligned(input_gradient.data, out_gradient.data, out.data), context.stream);
  });
}

void exp_forward(Array out, ConstArray input, Context context) {
  on_storage_type(out, [&](auto zero) {
    using S = decltype(zero);
    map<S>(Exponential<S>{out.as<S>(), input.as<S>()}, out.count(), are_aligned(out.data, input.data), context.stream);
  });
}

void silu_forward(Array out, ConstArray input, Context context) {
  on_storage_type(out, [&](auto zero) {
    using S = decltype(zero);
    map<S>(SiluForward<S>{out.as<S>(), input.as<S>()}, out.count(), are_aligned(out.data, input.data), context.stream);
  });
}

void silu_backward(Array input_gradient, Write write, ConstArray out_gradient, ConstArray input, Context context) {
  on_storage_type(input, [&](auto zero) {
    using S = decltype(zero);
    const SiluBackward<S> operation{input_gradient.as<S>(), write, out_gradient.as<S>(), input.as<S>()};
    map<S>(operation, input.count(), are_aligned(input_gradient.data, out_gradient.data, input.data), context.stream);
  });
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
