#pragma once
/// @file
/// From the element type that an array names to a template argument.
#include "base/error.hpp"
#include "kernels/device_types.hpp"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

/// Calls body(S{}) with the type in which `array` is stored.
/// @throws ContractError  Neither float32 nor bfloat16.
template <typename Body>
void on_storage_type(const DeviceArray& array, const Body& body) {
  if (array.dtype == DType::kFloat32) {
    body(float{});
  } else {
    require(array.dtype == DType::kBFloat16, "device kernels work on float32 and bfloat16, not ", array.dtype);
    body(BFloat16{});
  }
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
