#pragma once
/// @file
/// Rotary positions. Common rules: kernels/ops.hpp.
/// @source Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", 2021, section 3.4; which
/// elements form a pair is as in Hugging Face's LLaMA (i and i + D/2), not as in the paper (2i and 2i + 1).
#include "kernels/types.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::kernels {

/// Rotates each pair (x, y) = (input[..., t, i], input[..., t, i + D/2]) by its angle: x cos - y sin, y cos + x sin.
/// @param out       [..., T, D], D even; may be `input` if it is overwritten.
/// @param input     [..., T, D].
/// @param cos       [T, D/2], of accumulation_dtype(): the cosine of the angle of pair i at position t.
/// @param sin       [T, D/2]: the sine.
/// @param rotation  kBackward: by the opposite angle, which is the gradient of kForward.
void rotary(const Tensor& out, Write write, const Tensor& input, const Tensor& cos, const Tensor& sin,
            Rotation rotation);

}  // namespace lockstep::kernels
