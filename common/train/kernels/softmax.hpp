#pragma once
/// @file
/// The softmax over the last dimension as a separate operation; attention and losses have theirs built in. Common
/// rules: kernels/ops.hpp.
#include "kernels/types.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::kernels {

/// out[r, c] = e^(input[r, c] - largest of r) / sum over the row. An element of -infinity gets 0; a row of only those
/// becomes NaN, as in PyTorch.
/// @param out    [..., C]; may be `input`.
/// @param input  [..., C].
void softmax_forward(const Tensor& out, const Tensor& input);

/// input_gradient = out (out_gradient - sum over the row of out * out_gradient).
/// @param input_gradient  [..., C]; may be `out_gradient`.
/// @param out_gradient    [..., C].
/// @param out             [..., C], from the forward call.
void softmax_backward(const Tensor& input_gradient, Write write, const Tensor& out_gradient, const Tensor& out);

}  // namespace lockstep::kernels
