#include <array>

#include "kernels/cpu/bfloat16.hpp"
#include "kernels/cpu/dropout_factors.hpp"
#include "kernels/cpu/ops.hpp"
#include "kernels/cpu/parallel.hpp"

namespace lockstep::kernels::cpu {

namespace {

constexpr std::int64_t kDropoutBlock = 1024;  // elements per task

/// Runs body(i, factors, lanes) for all vectors of [B, ...] in blocks of one sample.
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
    for_each_vector<T>(count,
                       [&](std::int64_t i, auto lanes) { body(begin + i, load(factors.data() + i, lanes), lanes); });
  });
}

}  // namespace

void dropout_forward(const Tensor& out, const Tensor& input, const DropoutMask& mask, const Tensor& residual) {
  require_like("dropout_forward", "input", input, out);
  if (!mask.is_active()) return residual.is_defined() ? add(out, residual, input) : copy(out, input);
  on_device_and_storage_type("dropout_forward", out, [&](auto zero) {
    using S = decltype(zero);
    using T = Compute<S>;
    require_mask("dropout_forward", mask, out.shape()[0]);
    S* const to = data_of<S>(out);
    const S* const from = data_of<S>(input);
    const auto thinned = [=](std::int64_t i, Vector<T> factors, auto lanes) {
      return dropped_lanes<T>(load(from + i, lanes), factors);
    };
    if (residual.is_defined()) {
      require_like("dropout_forward", "residual", residual, out);
      const S* const kept = data_of<S>(residual);
      for_each_factor<T>(out, mask, [=](std::int64_t i, Vector<T> factors, auto lanes) {
        store(to + i, load(kept + i, lanes) + thinned(i, factors, lanes), lanes);
      });
    } else {
      for_each_factor<T>(out, mask, [=](std::int64_t i, Vector<T> factors, auto lanes) {
        store(to + i, thinned(i, factors, lanes), lanes);
      });
    }
  });
}

}  // namespace lockstep::kernels::cpu
