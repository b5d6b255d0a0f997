#include "kernels/elementwise.hpp"

#include <cstring>

#include "kernels/cpu/check.hpp"
#include "kernels/cpu/parallel.hpp"

namespace lockstep::kernels {

namespace {

constexpr std::int64_t kBlock = 8192;  // elements per task

/// Runs body(i) for each of `count` elements, in blocks that vectorise.
template <typename Body>
void for_each_element(std::int64_t count, const Body& body) {
  parallel_blocks(count, kBlock, count, [&](std::int64_t begin, std::int64_t end) {
#pragma GCC ivdep  // an output may be an input, element on the same element
    for (std::int64_t i = begin; i < end; ++i) body(i);
  });
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
  const auto* const from = static_cast<const std::byte*>(input.data());
  constexpr std::int64_t kBlockBytes = 1 << 16;
  parallel_blocks(out.bytes(), kBlockBytes, out.bytes() / 4, [=](std::int64_t begin, std::int64_t end) {
    std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
  });
}

void add(const Tensor& out, const Tensor& a, const Tensor& b) {
  on_device_and_type("add", out, [&](auto zero) {
    using T = decltype(zero);
    require_like("add", "a", a, out);
    require_like("add", "b", b, out);
    T* const to = data_of<T>(out);
    const T *const left = data_of<T>(a), *const right = data_of<T>(b);
    for_each_element(out.count(), [=](std::int64_t i) { to[i] = left[i] + right[i]; });
  });
}

void add_scaled(const Tensor& out, double factor, const Tensor& input) {
  on_device_and_type("add_scaled", out, [&](auto zero) {
    using T = decltype(zero);
    require_like("add_scaled", "input", input, out);
    T* const to = data_of<T>(out);
    const T* const from = data_of<T>(input);
    for_each_element(out.count(), [=, scale = static_cast<T>(factor)](std::int64_t i) { to[i] += scale * from[i]; });
  });
}

void scale(const Tensor& out, double factor) {
  on_device_and_type("scale", out, [&](auto zero) {
    using T = decltype(zero);
    T* const to = data_of<T>(out);
    for_each_element(out.count(), [=, scale = static_cast<T>(factor)](std::int64_t i) { to[i] *= scale; });
  });
}

void add_bias(const Tensor& out, const Tensor& input, const Tensor& bias) {
  on_device_and_type("add_bias", out, [&](auto zero) {
    using T = decltype(zero);
    require_like("add_bias", "input", input, out);
    const std::int64_t columns = columns_of(out);
    require_count("add_bias", "bias", bias, columns, out.dtype());
    T* const to = data_of<T>(out);
    const T *const from = data_of<T>(input), *const added = data_of<T>(bias);
    parallel_blocks(rows_of(out), 16, out.count(), [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
#pragma GCC ivdep
        for (std::int64_t c = 0; c < columns; ++c) to[row * columns + c] = from[row * columns + c] + added[c];
      }
    });
  });
}

void relu_forward(const Tensor& out, const Tensor& input) {
  on_device_and_type("relu_forward", out, [&](auto zero) {
    using T = decltype(zero);
    require_like("relu_forward", "input", input, out);
    T* const to = data_of<T>(out);
    const T* const from = data_of<T>(input);
    // The comparison is this way round so that NaN stays NaN.
    for_each_element(out.count(), [=](std::int64_t i) { to[i] = from[i] <= T{0} ? T{0} : from[i]; });
  });
}

void relu_backward(const Tensor& input_gradient, Write write, const Tensor& out_gradient, const Tensor& out) {
  on_device_and_type("relu_backward", input_gradient, [&](auto zero) {
    using T = decltype(zero);
    require_like("relu_backward", "out gradient", out_gradient, input_gradient);
    require_like("relu_backward", "out", out, input_gradient);
    T* const to = data_of<T>(input_gradient);
    const T *const from = data_of<T>(out_gradient), *const result = data_of<T>(out);
    const auto gradient = [=](std::int64_t i) { return result[i] <= T{0} ? T{0} : from[i]; };
    if (write == Write::kAdd) {
      for_each_element(out.count(), [=](std::int64_t i) { to[i] += gradient(i); });
    } else {
      for_each_element(out.count(), [=](std::int64_t i) { to[i] = gradient(i); });
    }
  });
}

}  // namespace lockstep::kernels
