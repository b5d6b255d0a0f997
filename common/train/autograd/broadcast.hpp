#pragma once
/// @file
/// Element-wise operations on two shapes. Private to the module.
#include <utility>

#include "autograd/variable.hpp"

namespace lockstep::autograd {

/// Both in the wider type where one is bfloat16 and the other float32, as in PyTorch.
[[nodiscard]] std::pair<Variable, Variable> with_common_type(const Variable& a, const Variable& b);

/// Uninitialised elements of the shape that both are repeated to: from the last dimension on, the larger size.
[[nodiscard]] Tensor empty_broadcast(const Tensor& a, const Tensor& b);

/// The gradient of what was repeated to the shape of `gradient`, from `shape`: the sum over its repetitions.
[[nodiscard]] Tensor sum_to(Tensor gradient, const Shape& shape);

}  // namespace lockstep::autograd
