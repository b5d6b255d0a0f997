#include <cstring>

#include "base/float16.hpp"
#include "kernels/cpu/bfloat16.hpp"
#include "kernels/cpu/check.hpp"
#include "kernels/cpu/ops.hpp"
#include "kernels/cpu/parallel.hpp"

namespace lockstep::kernels::cpu {

namespace {

constexpr std::int64_t kBlock = 8192;  // elements per task

/// Runs body(i) for each of `count` elements, in blocks that vectorise.
template <typename Body>
void for_each_element(std::int64_t count, const Body& body) {
  parallel_blocks(count, kBlock, count, [&](std::int64_t begin, std::int64_t end) {
#pragma GCC ivdep  // an output may alias an input element by element
    for (std::int64_t i = begin; i < end; ++i) body(i);
  });
}

/// Runs body(offset, lanes) for each vector of `count` elements stored as S; an output may be an input.
template <typename S, typename Body>
void for_each_vector_of(std::int64_t count, const Body& body) {
  parallel_blocks(count, kBlock, count, [&](std::int64_t begin, std::int64_t end) {
    for_each_vector<Compute<S>>(end - begin, [&](std::int64_t i, auto lanes) { body(begin + i, lanes); });
  });
}

// The CPU's only float16 operation: for files, and for inspecting a device's results.
void cast_float16(const Tensor& out, const Tensor& input) {
  const bool is_widening = out.dtype() == DType::kFloat32;
  require(input.is_defined() && input.count() == out.count() && (is_widening || input.dtype() == DType::kFloat32),
          "cast: ", input.dtype(), " ", input.shape(), " cannot become ", out.dtype(), " ", out.shape());
  if (is_widening) {
    const auto* const from = data_of<const Float16>(input);
    auto* const to = data_of<float>(out);
    for_each_element(out.count(), [=](std::int64_t i) { to[i] = to_float(from[i]); });
  } else {
    const auto* const from = data_of<const float>(input);
    auto* const to = data_of<Float16>(out);
    for_each_element(out.count(), [=](std::int64_t i) { to[i] = to_float16(from[i]); });
  }
}

}  // namespace

void fill(const Tensor& out, double value) {
  on_device_and_type("fill", out, [&](auto zero) {
    using T = decltype(zero);
    T* const to = data_of<T>(out);
    for_each_element(out.count(), [=](std::int64_t i) { to[i] = static_cast<T>(value); });
  });
}

void copy(const Tensor& out, const Tensor& input) {
  require_like("copy", "input", input, out);
  require(out.device().is_cpu() && input.device().is_cpu(), "copy: no kernels for this device in this build");
  if (out.data() == input.data()) return;
  auto* const to = static_cast<std::byte*>(out.data());
  const auto* const from = static_cast<const std::byte*>(input.const_data());
  constexpr std::int64_t kBlockBytes = 1 << 16;
  parallel_blocks(out.bytes(), kBlockBytes, out.bytes() / 4, [=](std::int64_t begin, std::int64_t end) {
    std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
  });
}

void cast(const Tensor& out, const Tensor& input) {
  if (out.dtype() == input.dtype()) return copy(out, input);
  if (out.dtype() == DType::kFloat16 || input.dtype() == DType::kFloat16) return cast_float16(out, input);
  on_device_and_storage_type("cast", out, [&](auto zero) {
    using To = decltype(zero);
    using From = std::conditional_t<std::is_same_v<To, BFloat16>, float, BFloat16>;
    require(input.is_defined() && out.dtype() != DType::kFloat64 && input.dtype() == dtype_of<From> &&
                input.count() == out.count(),
            "cast: ", input.dtype(), " ", input.shape(), " cannot become ", out.dtype(), " ", out.shape());
    To* const to = data_of<To>(out);
    const From* const from = data_of<const From>(input);
    if constexpr (std::is_same_v<Compute<To>, float>) {
      for_each_vector_of<float>(out.count(),
                                [=](std::int64_t i, auto lanes) { store(to + i, load(from + i, lanes), lanes); });
    }
  });
}

void add(const Tensor& out, const Tensor& a, const Tensor& b) {
  on_device_and_storage_type("add", out, [&](auto zero) {
    using S = decltype(zero);
    require_like("add", "a", a, out);
    require_like("add", "b", b, out);
    S* const to = data_of<S>(out);
    const S *const left = data_of<S>(a), *const right = data_of<S>(b);
    for_each_vector_of<S>(out.count(), [=](std::int64_t i, auto lanes) {
      store(to + i, load(left + i, lanes) + load(right + i, lanes), lanes);
    });
  });
}

void add_scaled(const Tensor& out, double factor, const Tensor& input) {
  on_device_and_storage_type("add_scaled", out, [&](auto zero) {
    using S = decltype(zero);
    require_like("add_scaled", "input", input, out);
    S* const to = data_of<S>(out);
    const S* const from = data_of<S>(input);
    for_each_vector_of<S>(out.count(), [=, scale = static_cast<Compute<S>>(factor)](std::int64_t i, auto lanes) {
      store(to + i, load(to + i, lanes) + scale * load(from + i, lanes), lanes);
    });
  });
}

void scale(const Tensor& out, double factor) {
  on_device_and_storage_type("scale", out, [&](auto zero) {
    using S = decltype(zero);
    S* const to = data_of<S>(out);
    for_each_vector_of<S>(out.count(), [=, scale = static_cast<Compute<S>>(factor)](std::int64_t i, auto lanes) {
      store(to + i, load(to + i, lanes) * scale, lanes);
    });
  });
}

void add_bias(const Tensor& out, const Tensor& input, const Tensor& bias) {
  on_device_and_type("add_bias", out, [&](auto zero) {
    using T = decltype(zero);
    require_like("add_bias", "input", input, out);
    const std::int64_t columns = columns_of(out);
    require_count("add_bias", "bias", bias, columns, out.dtype());
    T* const to = data_of<T>(out);
    const T *const from = data_of<const T>(input), *const added = data_of<const T>(bias);
    parallel_blocks(rows_of(out), 16, out.count(), [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
#pragma GCC ivdep
        for (std::int64_t c = 0; c < columns; ++c) to[row * columns + c] = from[row * columns + c] + added[c];
      }
    });
  });
}

void relu_forward(const Tensor& out, const Tensor& input) {
  on_device_and_storage_type("relu_forward", out, [&](auto zero) {
    using S = decltype(zero);
    require_like("relu_forward", "input", input, out);
    S* const to = data_of<S>(out);
    const S* const from = data_of<S>(input);
    for_each_vector_of<S>(out.count(), [=](std::int64_t i, auto lanes) {
      const auto value = load(from + i, lanes);  // the comparison is this way round so that NaN stays NaN
      store(to + i, value <= Compute<S>{0} ? Vector<Compute<S>>{} : value, lanes);
    });
  });
}

void relu_backward(const Tensor& input_gradient, Write write, const Tensor& out_gradient, const Tensor& out) {
  on_device_and_storage_type("relu_backward", input_gradient, [&](auto zero) {
    using S = decltype(zero);
    using T = Compute<S>;
    require_like("relu_backward", "out gradient", out_gradient, input_gradient);
    require_like("relu_backward", "out", out, input_gradient);
    S* const to = data_of<S>(input_gradient);
    const S *const from = data_of<S>(out_gradient), *const result = data_of<S>(out);
    for_each_vector_of<S>(out.count(), [=](std::int64_t i, auto lanes) {
      const Vector<T> gradient = load(result + i, lanes) <= T{0} ? Vector<T>{} : load(from + i, lanes);
      store(to + i, write == Write::kAdd ? load(to + i, lanes) + gradient : gradient, lanes);
    });
  });
}

void exp_forward(const Tensor& out, const Tensor& input) {
  on_device_and_storage_type("exp_forward", out, [&](auto zero) {
    using S = decltype(zero);
    require_like("exp_forward", "input", input, out);
    S* const to = data_of<S>(out);
    const S* const from = data_of<const S>(input);
    for_each_vector_of<S>(out.count(),
                          [=](std::int64_t i, auto lanes) { store(to + i, fast_exp(load(from + i, lanes)), lanes); });
  });
}

void silu_forward(const Tensor& out, const Tensor& input) {
  on_device_and_storage_type("silu_forward", out, [&](auto zero) {
    using S = decltype(zero);
    using T = Compute<S>;
    require_like("silu_forward", "input", input, out);
    S* const to = data_of<S>(out);
    const S* const from = data_of<const S>(input);
    for_each_vector_of<S>(out.count(), [=](std::int64_t i, auto lanes) {
      const Vector<T> x = load(from + i, lanes);
      store(to + i, x / (T{1} + fast_exp(-x)), lanes);
    });
  });
}

void silu_backward(const Tensor& input_gradient, Write write, const Tensor& out_gradient, const Tensor& input) {
  on_device_and_storage_type("silu_backward", input_gradient, [&](auto zero) {
    using S = decltype(zero);
    using T = Compute<S>;
    require_like("silu_backward", "out gradient", out_gradient, input_gradient);
    require_like("silu_backward", "input", input, input_gradient);
    S* const to = data_of<S>(input_gradient);
    const S *const dy = data_of<const S>(out_gradient), *const from = data_of<const S>(input);
    for_each_vector_of<S>(input.count(), [=](std::int64_t i, auto lanes) {
      const Vector<T> x = load(from + i, lanes), gate = T{1} / (T{1} + fast_exp(-x));
      const Vector<T> gradient = load(dy + i, lanes) * gate * (T{1} + x * (T{1} - gate));
      store(to + i, write == Write::kAdd ? load(to + i, lanes) + gradient : gradient, lanes);
    });
  });
}

}  // namespace lockstep::kernels::cpu
