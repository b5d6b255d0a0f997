#pragma once
/// @file
/// How an operation on the CPU finds its element type. Internal to this module.
#include <string_view>
#include <type_traits>

#include "kernels/check.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::kernels {

/// The elements; read only if T is const.
template <typename T>
[[nodiscard]] T* data_of(const Tensor& tensor) noexcept {
  if constexpr (std::is_const_v<T>) {
    return static_cast<T*>(tensor.const_data());
  } else {
    return static_cast<T*>(tensor.data());
  }
}

/// Calls body(float{}) or body(double{}), by the type of `tensor`.
/// @throws ContractError  Undefined, another element type, or not on the CPU.
template <typename Body>
void on_device_and_type(std::string_view operation, const Tensor& tensor, const Body& body) {
  require(tensor.is_defined(), operation, ": a tensor is undefined");
  require(tensor.device().is_cpu(), operation, ": elements on a device are no host memory");
  require(tensor.dtype() != DType::kFloat16, operation, ": the CPU does not compute in float16; use bfloat16, ",
          "or a device (cuda, emulated)");
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
