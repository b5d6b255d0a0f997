#include "kernels/dropout.hpp"

#include <array>

#include "kernels/cpu/dropout_factors.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/elementwise.hpp"

namespace lockstep::kernels {

namespace {

constexpr std::int64_t kDropoutBlock = 1024;  // elements per task

/// Runs body(i, factor) for all elements of [B, ...] in blocks of one sample.
template <typename T, typename Body>
void for_each_factor(const Tensor& tensor, const DropoutMask& mask, const Body& body) {
  const std::int64_t samples = tensor.shape()[0];
  if (tensor.count() == 0) return;
  const std::int64_t sample_count = tensor.count() / samples;
  const std::int64_t blocks = (sample_count + kDropoutBlock - 1) / kDropoutBlock;
  // A quarter of the usual elements already pays for threads: random numbers are dear.
  parallel_tasks(samples * blocks, tensor.count() * 4, [&](std::int64_t task) {
    const std::int64_t sample = task / blocks, block = task % blocks;
    const std::int64_t first = block * kDropoutBlock, count = std::min(kDropoutBlock, sample_count - first);
    std::array<T, kDropoutBlock> factors;
    dropout_factors(factors.data(), mask, mask.sample_ids[static_cast<std::size_t>(sample)], first, count);
    const std::int64_t begin = sample * sample_count + first;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i) body(begin + i, factors[static_cast<std::size_t>(i)]);
  });
}

}  // namespace

std::uint64_t dropout_key(std::uint64_t seed, std::int64_t step, std::uint64_t layer) noexcept {
  return mix64(mix64(seed, static_cast<std::uint64_t>(step)), layer);
}

void dropout_forward(const Tensor& out, const Tensor& input, const DropoutMask& mask, const Tensor& residual) {
  require_like("dropout_forward", "input", input, out);
  if (!mask.is_active()) return residual.is_defined() ? add(out, residual, input) : copy(out, input);
  on_device_and_type("dropout_forward", out, [&](auto zero) {
    using T = decltype(zero);
    require_mask("dropout_forward", mask, out.shape()[0]);
    T* const to = data_of<T>(out);
    const T* const from = data_of<T>(input);
    if (residual.is_defined()) {
      require_like("dropout_forward", "residual", residual, out);
      const T* const kept = data_of<T>(residual);
      for_each_factor<T>(out, mask, [=](std::int64_t i, T factor) { to[i] = kept[i] + dropped(from[i], factor); });
    } else {
      for_each_factor<T>(out, mask, [=](std::int64_t i, T factor) { to[i] = dropped(from[i], factor); });
    }
  });
}

void dropout_backward(const Tensor& input_gradient, Write write, const Tensor& out_gradient, const DropoutMask& mask) {
  if (write == Write::kAdd) return dropout_forward(input_gradient, out_gradient, mask, input_gradient);
  dropout_forward(input_gradient, out_gradient, mask);
}

}  // namespace lockstep::kernels
