#pragma once
/// @file
/// From an array's element type to a template argument. Internal to this module.
#include "kernels/arguments.hpp"
#include "kernels/cpu/bfloat16.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::kernels {

/// Calls body<T>() with float or double, by the type of `array`. @pre  It has one of them: Types::kWide.
template <typename Body>
void on_wide_type(const ConstArray& array, const Body& body) {
  if (array.dtype == DType::kFloat64) return body.template operator()<double>();
  body.template operator()<float>();
}

/// Calls body<S, T>() with the type in which `array` is stored (float, double, BFloat16) and the type for computing
/// with it. @pre  Types::kActivations.
template <typename Body>
void on_storage_type(const ConstArray& array, const Body& body) {
  if (array.dtype == DType::kBFloat16) return body.template operator()<BFloat16, float>();
  on_wide_type(array, [&]<typename T>() { body.template operator()<T, T>(); });
}

/// The elements of a tensor that a kernel allocated.
template <typename T>
[[nodiscard]] T* data_of(const Tensor& tensor) noexcept {
  return static_cast<T*>(tensor.data());
}

}  // namespace lockstep::kernels
