#pragma once
/// @file
/// From an array's element type to a template argument.
#include "base/error.hpp"
#include "kernels/arguments.hpp"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

/// Calls body(S{}) with the 16-bit type in which `array` is stored.
/// @throws ContractError  Neither bfloat16 nor float16.
template <typename Body>
void on_reduced_type(const ConstArray& array, const Body& body) {
  if (array.dtype == DType::kBFloat16) {
    body(BFloat16{});
  } else {
    require(array.dtype == DType::kFloat16, "device kernels work on float32, bfloat16 and float16, not ", array.dtype);
    body(Float16{});
  }
}

/// Calls body(S{}) with the type in which `array` is stored.
/// @throws ContractError  Neither float32, bfloat16 nor float16.
template <typename Body>
void on_storage_type(const ConstArray& array, const Body& body) {
  if (array.dtype == DType::kFloat32) {
    body(float{});
  } else {
    on_reduced_type(array, body);
  }
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
