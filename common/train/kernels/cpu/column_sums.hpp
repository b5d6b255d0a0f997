#pragma once
/// @file
/// Sums over rows, block by block. Internal to this module.
#include <array>
#include <cstdint>

#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/types.hpp"
#include "kernels/types.hpp"

namespace lockstep::kernels {

/// Rows that one partial sum covers. Fixed, so that results do not depend on the number of threads.
inline constexpr std::int64_t kRowsPerPartialSum = 64;

/// Sums N vectors of length `columns` over `rows` rows. `add_rows(begin, end, sums)` adds the contributions of rows
/// [begin, end) to zeroed partial sums; partial sums are then added in row order.
template <typename T, std::size_t N, typename AddRows>
void column_sums(const std::array<T*, N>& out, Write write, std::int64_t rows, std::int64_t columns,
                 const AddRows& add_rows) {
  const std::int64_t blocks = std::max<std::int64_t>(1, (rows + kRowsPerPartialSum - 1) / kRowsPerPartialSum);
  const auto vectors = static_cast<std::int64_t>(N);
  const Tensor scratch = Tensor::empty({blocks, vectors, columns}, dtype_of<T>);
  T* const partial = data_of<T>(scratch);
  parallel_tasks(blocks, rows * columns, [&](std::int64_t block) {
    std::array<T*, N> sums;
    for (std::size_t vector = 0; vector < N; ++vector) {
      sums[vector] = partial + (block * vectors + static_cast<std::int64_t>(vector)) * columns;
    }
    std::fill_n(sums[0], vectors * columns, T{0});
    add_rows(block * kRowsPerPartialSum, std::min(rows, (block + 1) * kRowsPerPartialSum), sums);
  });
  for (std::int64_t vector = 0; vector < vectors; ++vector) {
    T* const total = partial + vector * columns;  // block 0's sums, in place
    for (std::int64_t block = 1; block < blocks; ++block) {
      const T* const from = partial + (block * vectors + vector) * columns;
      for (std::int64_t column = 0; column < columns; ++column) total[column] += from[column];
    }
    T* const to = out[static_cast<std::size_t>(vector)];
    for (std::int64_t column = 0; column < columns; ++column) {
      to[column] = write == Write::kAdd ? to[column] + total[column] : total[column];
    }
  }
}

}  // namespace lockstep::kernels
