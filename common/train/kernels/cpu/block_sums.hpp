#pragma once
/// @file
/// Sums that do not depend on the number of threads. Internal to this module.
#include <cstdint>
#include <vector>

#include "kernels/cpu/parallel.hpp"

namespace lockstep::kernels {

/// The sum of sum_range(begin, end) over blocks of [0, count), in double precision: blocks of fixed size, added in
/// order.
template <typename SumRange>
[[nodiscard]] double block_sum(std::int64_t count, const SumRange& sum_range) {
  constexpr std::int64_t kBlock = 16384;
  std::vector<double> partial(static_cast<std::size_t>((count + kBlock - 1) / kBlock));
  double* const sums = partial.data();
  parallel_blocks(count, kBlock, count,
                  [&](std::int64_t begin, std::int64_t end) { sums[begin / kBlock] = sum_range(begin, end); });
  double total = 0;
  for (const double part : partial) total += part;
  return total;
}

}  // namespace lockstep::kernels
