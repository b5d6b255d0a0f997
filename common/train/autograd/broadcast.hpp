#pragma once
/// @file
/// Element-wise operations on two shapes. Internal to this module.
#include <utility>

#include "autograd/variable.hpp"

namespace lockstep::autograd {

/// Both in the wider type if one is bfloat16 and the other float32, as in PyTorch.
[[nodiscard]] std::pair<Variable, Variable> with_common_type(const Variable& a, const Variable& b);

/// Uninitialised elements of the shape that both are broadcast to: the larger size of each dimension, counted from the
/// last.
[[nodiscard]] Tensor empty_broadcast(const Tensor& a, const Tensor& b);

/// The gradient of an operand of `shape` that was broadcast to the shape of `gradient`: the sum over its repetitions.
[[nodiscard]] Tensor sum_to(Tensor gradient, const Shape& shape);

}  // namespace lockstep::autograd
