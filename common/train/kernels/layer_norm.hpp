#pragma once
/// @file
/// Layer normalization over the last dimension. Common rules: kernels/ops.hpp.
/// @source Ba, Kiros, Hinton, "Layer Normalization", 2016.
#include "kernels/types.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::kernels {

/// Needed by the backward pass besides the input. Letter R: rows, the product of all dimensions but the last.
struct LayerNormStatistics {
  Tensor mean;                  ///< [R].
  Tensor reciprocal_deviation;  ///< [R], 1 / sqrt(variance + epsilon), biased variance.

  /// Uninitialised statistics for rows of `input`.
  [[nodiscard]] static LayerNormStatistics for_rows_of(const Tensor& input);
};

/// out = (input - mean) / sqrt(variance + epsilon) * gain + bias, row by row.
///
/// @param out         [..., C].
/// @param statistics  Written; each [R].
/// @param input       [..., C].
/// @param gain        [C].
/// @param bias        [C].
/// @param epsilon     Added to the variance; GPT-2 uses 1e-5.
void layer_norm_forward(const Tensor& out, const LayerNormStatistics& statistics, const Tensor& input,
                        const Tensor& gain, const Tensor& bias, double epsilon = 1e-5);

/// sum = a + b, then layer_norm_forward of the sum, in one pass: a residual connection and the norm that follows it.
///
/// @param out         [..., C].
/// @param sum         [..., C]; may be `a` or `b`.
/// @param statistics  Written; each [R].
/// @param a           [..., C].
/// @param b           [..., C].
/// @param gain        [C].
/// @param bias        [C].
/// @param epsilon     As in layer_norm_forward.
void add_layer_norm_forward(const Tensor& out, const Tensor& sum, const LayerNormStatistics& statistics,
                            const Tensor& a, const Tensor& b, const Tensor& gain, const Tensor& bias,
                            double epsilon = 1e-5);

/// The gradient with respect to the input, plus `skip_gradient` if given (the gradient that bypasses the norm in the
/// residual stream).
///
/// @param input_gradient  [..., C]; may be `out_gradient` or `skip_gradient`.
/// @param out_gradient    [..., C].
/// @param statistics      From the forward call.
/// @param input           [..., C], the normalized input (the sum in add_layer_norm_forward).
/// @param gain            [C].
/// @param gain_gradient   [C], written according to `parameter_write`.
/// @param bias_gradient   [C], written according to `parameter_write`.
/// @param parameter_write Overwrite or add, for both parameter gradients.
/// @param skip_gradient   [..., C], or undefined for none.
void layer_norm_backward(const Tensor& input_gradient, const Tensor& out_gradient,
                         const LayerNormStatistics& statistics, const Tensor& input, const Tensor& gain,
                         const Tensor& gain_gradient, const Tensor& bias_gradient, Write parameter_write,
                         const Tensor& skip_gradient = {});

}  // namespace lockstep::kernels
