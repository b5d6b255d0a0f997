#pragma once
/// @file
/// Checks of arguments and the one place where an operation finds its device and element type. Private to the module.
#include <cstdint>
#include <string_view>

#include "base/error.hpp"
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

template <typename T>
[[nodiscard]] T* data_of(const Tensor& tensor) noexcept {
  return static_cast<T*>(tensor.data());
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

/// Calls body(float{}) or body(double{}) as `tensor` says. Every operation passes here once: this is where a device
/// other than the CPU branches off to its own kernels.
/// @throws ContractError  Undefined, another element type, or a device without kernels in this build.
template <typename Body>
void on_device_and_type(std::string_view operation, const Tensor& tensor, const Body& body) {
  require(tensor.is_defined(), operation, ": a tensor is undefined");
  require(tensor.device().is_cpu(), operation, ": no kernels for ", tensor.device().name(), " in this build");
  if (tensor.dtype() == DType::kFloat32) {
    body(float{});
  } else {
    require(tensor.dtype() == DType::kFloat64, operation, ": needs float32 or float64, not ", tensor.dtype());
    body(double{});
  }
}

/// As on_device_and_type(), for operations whose tensors may be stored in bfloat16 too: body(BFloat16{}).
template <typename Body>
void on_device_and_storage_type(std::string_view operation, const Tensor& tensor, const Body& body) {
  const bool is_bfloat16 = tensor.is_defined() && tensor.device().is_cpu() && tensor.dtype() == DType::kBFloat16;
  if (is_bfloat16) return body(BFloat16{});
  on_device_and_type(operation, tensor, body);
}

}  // namespace lockstep::kernels
