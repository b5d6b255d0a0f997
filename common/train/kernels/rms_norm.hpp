#pragma once
/// @file
/// Division by the root of the mean square over the last dimension. Common rules: kernels/ops.hpp. Letter R: rows, the
/// product of all dimensions but the last.
/// @source Zhang and Sennrich, "Root Mean Square Layer Normalization", NeurIPS 2019.
#include "kernels/types.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::kernels {

/// out = input * reciprocal * gain with reciprocal = 1 / sqrt(mean of squares + epsilon), row by row.
/// @param out         [..., C].
/// @param reciprocal  [R], written; of accumulation_dtype().
/// @param input       [..., C].
/// @param gain        [C]; of accumulation_dtype().
/// @param epsilon     Added to the mean of squares.
void rms_norm_forward(const Tensor& out, const Tensor& reciprocal, const Tensor& input, const Tensor& gain,
                      double epsilon);

/// With n = input * reciprocal and g = out_gradient * gain: input_gradient = (g - n mean(g n)) * reciprocal, and
/// gain_gradient = the sum over rows of out_gradient * n.
/// @param input_gradient  [..., C]; may be `out_gradient` if it is overwritten.
/// @param write           Overwrite, or add to `input_gradient`.
/// @param gain_gradient   [C]; undefined: not computed.
/// @param gain_write      Overwrite, or add to `gain_gradient`.
/// @param out_gradient    [..., C].
/// @param reciprocal      From the forward call.
/// @param input           As in the forward call.
/// @param gain            As in the forward call.
void rms_norm_backward(const Tensor& input_gradient, Write write, const Tensor& gain_gradient, Write gain_write,
                       const Tensor& out_gradient, const Tensor& reciprocal, const Tensor& input, const Tensor& gain);

}  // namespace lockstep::kernels
