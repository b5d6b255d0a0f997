#include <array>

#include "kernels/cpu/dropout_factors.hpp"
#include "kernels/cpu/operations.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/types.hpp"

namespace lockstep::kernels::cpu {

namespace {

constexpr std::int64_t kDropoutBlock = 1024;  // elements per task

/// Runs body(i, factors, lanes) for all vectors of [rows, columns] in blocks of one sample.
template <typename T, typename Body>
void for_each_factor(const Dropout& mask, const Body& body) {
  const DropoutRows& rows = mask.rows;
  if (rows.largest_count() == 0) return;
  const std::int64_t blocks = (rows.largest_count() + kDropoutBlock - 1) / kDropoutBlock;
  // Random numbers are expensive, so threads pay off at a quarter of the usual number of elements.
  parallel_tasks(rows.parts() * blocks, rows.rows * rows.columns * 4, [&](std::int64_t task) {
    const DropoutPart part = rows.part(task / blocks);
    const std::int64_t first = task % blocks * kDropoutBlock, count = std::min(kDropoutBlock, part.count - first);
    if (count <= 0) return;
    std::array<T, kDropoutBlock> factors;
    dropout_factors(factors.data(), mask, mask.sample_ids[part.sample], part.first + first, count);
    const std::int64_t begin = part.begin + first;
    for_each_vector<T>(count,
                       [&](std::int64_t i, auto lanes) { body(begin + i, load(factors.data() + i, lanes), lanes); });
  });
}

}  // namespace

void dropout_forward(Array out, ConstArray input, const Dropout& mask, ConstArray residual, Context context) {
  if (!mask.is_active()) return residual.is_defined() ? add(out, residual, input, context) : copy(out, input, context);
  on_storage_type(out, [&]<typename S, typename T>() {
    S* const to = out.as<S>();
    const S *const from = input.as<S>(), *const kept = residual.as<S>();
    const auto thinned = [=](std::int64_t i, Vector<T> factors, auto lanes) {
      return dropped_lanes<T>(load(from + i, lanes), factors);
    };
    if (kept != nullptr) {
      for_each_factor<T>(mask, [=](std::int64_t i, Vector<T> factors, auto lanes) {
        store(to + i, load(kept + i, lanes) + thinned(i, factors, lanes), lanes);
      });
    } else {
      for_each_factor<T>(mask, [=](std::int64_t i, Vector<T> factors, auto lanes) {
        store(to + i, thinned(i, factors, lanes), lanes);
      });
    }
  });
}

}  // namespace lockstep::kernels::cpu
