#pragma once
/// @file
/// Dropout with recomputed masks. Common rules: kernels/ops.hpp.
#include "kernels/types.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::kernels {

/// out = residual + mask * input / (1 - probability).
///
/// @param out       [B, ...]; may be `input` or `residual`.
/// @param input     [B, ...].
/// @param mask      With sample_ids of length B if active; not active: out = residual + input.
/// @param residual  [B, ...], or undefined for none.
/// @source Srivastava et al., J. Mach. Learn. Res. 15, 2014 (inverted form).
void dropout_forward(const Tensor& out, const Tensor& input, const DropoutMask& mask, const Tensor& residual = {});

/// input_gradient = mask * out_gradient / (1 - probability), with the mask of the forward call.
///
/// @param input_gradient  [B, ...]; may be `out_gradient`.
/// @param out_gradient    [B, ...].
/// @param mask            As in dropout_forward.
void dropout_backward(const Tensor& input_gradient, Write write, const Tensor& out_gradient, const DropoutMask& mask);

}  // namespace lockstep::kernels
