#pragma once
/// @file
/// Where element-wise operations put their results. Internal to this module.
#include <utility>

#include "autograd/node.hpp"
#include "autograd/variable.hpp"

namespace lockstep::autograd {

/// Where an element-wise operation on `input` may put its result: the input's own memory if nobody else holds it.
[[nodiscard]] inline Tensor output_for(const Variable& input) {
  const Tensor& value = input.value();
  return input.is_parameter() ? Tensor::empty(value.shape(), value.dtype(), value.device()) : reuse_or_allocate(value);
}

/// Calls kernel(d_input, write): a first contribution goes into the output gradient's own memory, a later one is added.
template <typename Kernel>
void write_elementwise_gradient(const Variable& input, const Tensor& d_output, const Kernel& kernel) {
  if (input.has_gradient()) {
    const auto [d_input, write] = input.begin_gradient_write();
    kernel(d_input, write);
  } else {
    Tensor d_input = reuse_or_allocate(d_output);
    kernel(d_input, GradientWrite::kOverwrite);
    input.accumulate_gradient(std::move(d_input));
  }
}

}  // namespace lockstep::autograd
