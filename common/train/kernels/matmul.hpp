#pragma once
/// @file
/// Matrix products. Common rules: kernels/ops.hpp.
#include "kernels/types.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::kernels {

/// Whether products of bfloat16 matrices run on bfloat16 instructions. Otherwise the same rounding is emulated in
/// float32: no faster than float32, with float32 copies of the operands during the product.
[[nodiscard]] bool has_bfloat16_products() noexcept;

/// out = op(a) op(b), or out += op(a) op(b).
///
/// @param out          [M, N]; may be float32 or bfloat16 if `a` and `b` are bfloat16.
/// @param a            [M, K], or [K, M] with Transpose::kYes.
/// @param b            [K, N], or [N, K] with Transpose::kYes.
/// @cost 2 M N K flops. On the CPU, float32 runs on oneDNN if it is installed, else on Eigen; float64 on Eigen.
void matmul(const Tensor& out, const Tensor& a, Transpose a_transpose, const Tensor& b, Transpose b_transpose,
            Write write = Write::kOverwrite);

/// One product of the last two dimensions for each index i of the leading ones: out[i] = op(a[i]) op(b[i]), or +=.
///
/// @param out          [..., M, N]. The leading dimensions of all three are equal. Types as in matmul().
/// @param a            [..., M, K], or [..., K, M] with Transpose::kYes.
/// @param b            [..., K, N], or [..., N, K] with Transpose::kYes.
/// @cost 2 M N K flops for each product. On a device one library call for all, on the CPU one call per product.
void batched_matmul(const Tensor& out, const Tensor& a, Transpose a_transpose, const Tensor& b, Transpose b_transpose,
                    Write write = Write::kOverwrite);

/// out = input op(weight) + bias: a fully connected layer, in one pass.
///
/// @param out               [..., N].
/// @param input             [..., K].
/// @param weight            [K, N] (GPT-2's Conv1D), or [N, K] with Transpose::kYes (PyTorch's Linear).
/// @param bias              [N], or undefined for none; float32 if the others are bfloat16.
void linear_forward(const Tensor& out, const Tensor& input, const Tensor& weight, Transpose weight_transpose,
                    const Tensor& bias);

/// The gradient of linear_forward with respect to its input: out_gradient op(weight)^T.
///
/// @param input_gradient    [..., K].
/// @param out_gradient      [..., N].
/// @param weight            As in linear_forward.
/// @param weight_transpose  As in linear_forward.
void linear_input_gradient(const Tensor& input_gradient, Write write, const Tensor& out_gradient, const Tensor& weight,
                           Transpose weight_transpose);

/// The gradient of linear_forward with respect to its weight: input^T out_gradient (or its transpose).
///
/// @param weight_gradient   As `weight` in linear_forward; float32 if the others are bfloat16.
/// @param input             [..., K].
/// @param out_gradient      [..., N].
/// @param weight_transpose  As in linear_forward.
void linear_weight_gradient(const Tensor& weight_gradient, Write write, const Tensor& input, const Tensor& out_gradient,
                            Transpose weight_transpose);

/// The gradient of a bias: the sum over rows.
///
/// @param bias_gradient  [N]; float32 if `out_gradient` is bfloat16.
/// @param out_gradient   [..., N].
void bias_gradient(const Tensor& bias_gradient, Write write, const Tensor& out_gradient);

}  // namespace lockstep::kernels
