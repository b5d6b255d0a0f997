#pragma once
/// @file
/// How a tensor's elements map to the samples that a dropout mask is drawn for.
#include <cstdint>

#include "base/host_device.hpp"

namespace lockstep::kernels {

/// The elements of a tensor that belong to one sample.
struct DropoutPart {
  std::int64_t sample;  ///< Index of its id among DropoutMask::sample_ids.
  std::int64_t begin;   ///< Index of the first element in the tensor.
  std::int64_t first;   ///< Index of the same element in the sample.
  std::int64_t count;   ///< Elements; contiguous in both.
};

/// A tensor as rows [rows, columns] of a larger one whose rows belong to samples, `rows_per_sample` each. Made by
/// Call::dropout() (kernels/call.hpp). Plain numbers, for device code.
struct DropoutRows {
  std::int64_t rows = 0;             ///< Of this tensor.
  std::int64_t columns = 0;          ///< Per row.
  std::int64_t first_row = 0;        ///< Of this tensor, in the larger one.
  std::int64_t rows_per_sample = 1;  ///< At least 1.
  std::int64_t first_element = 0;    ///< DropoutMask::first_element.

  /// The number of samples with elements in the tensor.
  [[nodiscard]] LOCKSTEP_HOST_DEVICE constexpr std::int64_t parts() const noexcept {
    if (rows == 0) return 0;
    return (first_row + rows - 1) / rows_per_sample - first_row / rows_per_sample + 1;
  }

  /// @param index  In [0, parts()).
  [[nodiscard]] LOCKSTEP_HOST_DEVICE constexpr DropoutPart part(std::int64_t index) const noexcept {
    const std::int64_t sample = first_row / rows_per_sample + index, sample_row = sample * rows_per_sample;
    const std::int64_t begin = sample_row > first_row ? sample_row : first_row;
    const std::int64_t sample_end = sample_row + rows_per_sample, own_end = first_row + rows;
    const std::int64_t end = sample_end < own_end ? sample_end : own_end;
    return {sample, (begin - first_row) * columns, first_element + (begin - sample_row) * columns,
            (end - begin) * columns};
  }

  /// No part has more elements than this.
  [[nodiscard]] LOCKSTEP_HOST_DEVICE constexpr std::int64_t largest_count() const noexcept {
    return (rows < rows_per_sample ? rows : rows_per_sample) * columns;
  }
};

}  // namespace lockstep::kernels
