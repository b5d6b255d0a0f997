#include <array>

#include "kernels/cpu/bfloat16.hpp"
#include "kernels/cpu/dropout_factors.hpp"
#include "kernels/cpu/ops.hpp"
#include "kernels/cpu/parallel.hpp"

namespace lockstep::kernels::cpu {

namespace {

constexpr std::int64_t kDropoutBlock = 1024;  // elements per task

/// Runs body(i, factors, lanes) for all vectors of [rows, columns] in blocks of one sample.
template <typename T, typename Body>
void for_each_factor(const DropoutRows& rows, const DropoutMask& mask, const Body& body) {
  if (rows.largest_count() == 0) return;
  const std::int64_t blocks = (rows.largest_count() + kDropoutBlock - 1) / kDropoutBlock;
  // Threads pay even for a quarter of the usual elements: random numbers are expensive.
  parallel_tasks(rows.parts() * blocks, rows.rows * rows.columns * 4, [&](std::int64_t task) {
    const DropoutPart part = rows.part(task / blocks);
    const std::int64_t first = task % blocks * kDropoutBlock, count = std::min(kDropoutBlock, part.count - first);
    if (count <= 0) return;
    std::array<T, kDropoutBlock> factors;
    dropout_factors(factors.data(), mask, mask.sample_ids[static_cast<std::size_t>(part.sample)], part.first + first,
                    count);
    const std::int64_t begin = part.begin + first;
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
    const DropoutRows rows = dropout_rows("dropout_forward", mask, out);
    S* const to = data_of<S>(out);
    const S* const from = data_of<S>(input);
    const auto thinned = [=](std::int64_t i, Vector<T> factors, auto lanes) {
      return dropped_lanes<T>(load(from + i, lanes), factors);
    };
    if (residual.is_defined()) {
      require_like("dropout_forward", "residual", residual, out);
      const S* const kept = data_of<S>(residual);
      for_each_factor<T>(rows, mask, [=](std::int64_t i, Vector<T> factors, auto lanes) {
        store(to + i, load(kept + i, lanes) + thinned(i, factors, lanes), lanes);
      });
    } else {
      for_each_factor<T>(rows, mask, [=](std::int64_t i, Vector<T> factors, auto lanes) {
        store(to + i, thinned(i, factors, lanes), lanes);
      });
    }
  });
}

}  // namespace lockstep::kernels::cpu
