#pragma once
/// @file
/// Given: the backward pass of a layer norm, exercise 05.3, with the names of common/train/kernels/layer_norm.hpp.
#include <span>

#include "exercise/todo.hpp"

namespace lockstep::kernels {

/// The forward pass's inputs, and the values that it has kept. Letters: R rows, C channels.
///
///     normalized[r, c] = (input[r, c] - mean[r]) * reciprocal_deviation[r]
///     out[r, c]        = normalized[r, c] * gain[c] + bias[c]
struct LayerNormInputs {
  std::span<const float> input;                 ///< [R, C]: row r begins at element r * C.
  std::span<const float> mean;                  ///< [R], of each row.
  std::span<const float> reciprocal_deviation;  ///< [R], 1 / sqrt(variance + epsilon), where variance is a mean too.
  std::span<const float> gain;                  ///< [C].
};

/// The backward pass: from the gradient of `out` to those of what it was computed from.
///
/// @param input_gradient  [R, C], overwritten.
/// @param gain_gradient   [C]; this call's contribution is added to what is there.
/// @param bias_gradient   [C]; as gain_gradient.
/// @param out_gradient    [R, C].
/// @param forward         As in the forward pass; R may be 0, C is at least 1. No array overlaps another one.
/// @source Ba, Kiros, Hinton, "Layer Normalization", 2016.
void layer_norm_backward(std::span<float> input_gradient, std::span<float> gain_gradient,
                         std::span<float> bias_gradient, std::span<const float> out_gradient,
                         const LayerNormInputs& forward);

}  // namespace lockstep::kernels
