#pragma once
/// @file
/// Operations on one element at a time. Common rules: kernels/ops.hpp. Unless noted, all tensors of a call have the
/// same number of elements, and an output may be the same tensor as an input.
#include "kernels/types.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::kernels {

/// out[i] = value. Not for bfloat16.
void fill(const Tensor& out, double value);

/// out = input; the same dtype. @cost One read, one write.
void copy(const Tensor& out, const Tensor& input);

/// out = input, from float32 to bfloat16 or float16 (rounded to nearest, ties to even) or back (exact).
/// @param out    float32, bfloat16 or float16.
/// @param input  float32 if `out` is not, or of the type of `out`.
void cast(const Tensor& out, const Tensor& input);

/// out = a + b.
void add(const Tensor& out, const Tensor& a, const Tensor& b);

/// out += factor * input.
void add_scaled(const Tensor& out, double factor, const Tensor& input);

/// out *= factor.
void scale(const Tensor& out, double factor);

/// out[r, c] = input[r, c] + bias[c]. Not for bfloat16.
/// @param out    [..., C].
/// @param input  [..., C].
/// @param bias   [C].
void add_bias(const Tensor& out, const Tensor& input, const Tensor& bias);

/// out = max(input, 0); NaN stays NaN.
void relu_forward(const Tensor& out, const Tensor& input);

/// input_gradient = out_gradient if out > 0, else 0.
/// @param input_gradient  May be the same tensor as `out_gradient`.
/// @param out_gradient    Gradient of the result of relu_forward.
/// @param out             The result of relu_forward (or its input: the signs agree).
void relu_backward(const Tensor& input_gradient, Write write, const Tensor& out_gradient, const Tensor& out);

/// out = e^input. Float32: error below 2 units in the last place.
void exp_forward(const Tensor& out, const Tensor& input);

/// out = input / (1 + e^-input).
/// @source Elfwing, Uchibe and Doya, "Sigmoid-Weighted Linear Units", Neural Networks 107, 2018; LLaMA's activation.
void silu_forward(const Tensor& out, const Tensor& input);

/// input_gradient = out_gradient * SiLU'(input), with s = 1 / (1 + e^-x) and SiLU'(x) = s (1 + x (1 - s)).
/// @param input_gradient  May be the same tensor as `out_gradient`.
/// @param out_gradient    Gradient of the result of silu_forward.
/// @param input           As in silu_forward.
void silu_backward(const Tensor& input_gradient, Write write, const Tensor& out_gradient, const Tensor& input);

/// out = GELU(input) in the tanh form: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
/// Float32: error below 3e-7 of max(|x|, 1).
/// @source Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016, section 2; GPT-2's form.
void gelu_forward(const Tensor& out, const Tensor& input);

/// gradient *= GELU'(input) and out = GELU(input), in one pass: for a backward pass that recomputes the result of
/// gelu_forward, bit for bit, instead of storing it.
/// @param out       Overwritten; may be `input` itself.
/// @param gradient  In: of the result of gelu_forward; out: of `input`.
/// @param input     As in gelu_forward.
void gelu_backward_again(const Tensor& out, const Tensor& gradient, const Tensor& input);

/// input_gradient = out_gradient * GELU'(input).
/// @param input_gradient  May be the same tensor as `out_gradient`.
/// @param out_gradient    Gradient of the result of gelu_forward.
/// @param input           As in gelu_forward.
void gelu_backward(const Tensor& input_gradient, Write write, const Tensor& out_gradient, const Tensor& input);

}  // namespace lockstep::kernels
