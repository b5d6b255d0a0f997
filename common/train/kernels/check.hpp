#pragma once
/// @file
/// Sizes of tensors as operations see them, and checks of arguments, for every device. Internal to this module.
#include <cstdint>
#include <string_view>

#include "base/error.hpp"
#include "kernels/dropout_rows.hpp"
#include "kernels/types.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::kernels {

/// Size of the last dimension; 1 for a scalar.
[[nodiscard]] inline std::int64_t columns_of(const Tensor& tensor) {
  return tensor.shape().rank() == 0 ? 1 : tensor.shape()[-1];
}

/// Product of all dimensions but the last.
[[nodiscard]] inline std::int64_t rows_of(const Tensor& tensor) {
  std::int64_t rows = 1;
  for (int axis = 0; axis + 1 < tensor.shape().rank(); ++axis) rows *= tensor.shape()[axis];
  return rows;
}

/// @throws ContractError  Another dtype or number of elements than `like`, or undefined.
inline void require_like(std::string_view operation, std::string_view what, const Tensor& tensor, const Tensor& like) {
  require(tensor.is_defined() && tensor.dtype() == like.dtype() && tensor.count() == like.count(), operation, ": ",
          what, " is ", tensor.dtype(), " ", tensor.shape(), " but must match ", like.dtype(), " ", like.shape());
}

/// @throws ContractError  Not `count` elements of `like`'s dtype.
inline void require_count(std::string_view operation, std::string_view what, const Tensor& tensor, std::int64_t count,
                          DType dtype) {
  require(tensor.is_defined() && tensor.dtype() == dtype && tensor.count() == count, operation, ": ", what, " is ",
          tensor.dtype(), " ", tensor.shape(), " but must hold ", count, " elements of ", dtype);
}

/// @throws ContractError  The mask does not fit a tensor of `samples` samples.
inline void require_mask(std::string_view operation, const DropoutMask& mask, std::int64_t samples) {
  if (!mask.is_active()) return;
  require(mask.probability < 1.0F, operation, ": dropout probability ", mask.probability, " is not below 1");
  require(static_cast<std::int64_t>(mask.sample_ids.size()) == samples, operation, ": ", mask.sample_ids.size(),
          " sample ids for ", samples, " samples");
  require(mask.first_element >= 0, operation, ": a dropout mask that begins with element ", mask.first_element);
}

/// For attention, whose samples are the first dimension. @throws ContractError  As require_mask(), or for rows.
inline void require_attention_mask(std::string_view operation, const DropoutMask& mask, std::int64_t samples) {
  require_mask(operation, mask, samples);
  require(!mask.is_active() || mask.rows_per_sample == 0, operation,
          ": a dropout mask with rows_per_sample; attention needs whole samples, and first_element for their heads");
}

/// How the elements of `tensor` map to the samples of an active mask.
/// @throws ContractError  The mask does not fit the tensor.
[[nodiscard]] inline DropoutRows dropout_rows(std::string_view operation, const DropoutMask& mask,
                                              const Tensor& tensor) {
  const std::int64_t count = tensor.count();
  if (mask.rows_per_sample == 0) {  // a sample is a row
    const std::int64_t samples = tensor.shape()[0];
    require_mask(operation, mask, samples);
    return {.rows = samples,
            .columns = samples == 0 ? 0 : count / samples,
            .first_row = 0,
            .rows_per_sample = 1,
            .first_element = mask.first_element};
  }
  const auto samples = static_cast<std::int64_t>(mask.sample_ids.size());
  require_mask(operation, mask, samples);
  const std::int64_t columns = tensor.shape()[-1], rows = columns == 0 ? 0 : count / columns;
  require(mask.rows_per_sample > 0 && mask.first_row >= 0 && mask.first_row + rows <= samples * mask.rows_per_sample,
          operation, ": a dropout mask for rows [", mask.first_row, ", ", mask.first_row + rows, ") of ", samples,
          " samples with ", mask.rows_per_sample, " rows each");
  return {.rows = rows,
          .columns = columns,
          .first_row = mask.first_row,
          .rows_per_sample = mask.rows_per_sample,
          .first_element = mask.first_element};
}

}  // namespace lockstep::kernels
