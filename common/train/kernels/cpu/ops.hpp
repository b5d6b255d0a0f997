#pragma once
/// @file
/// The operations on the CPU: kernels/ops.hpp calls them for tensors in host memory. Parameters and meaning are those
/// of the public functions of the same name. Internal to this module.
#include "kernels/ops.hpp"

namespace lockstep::kernels::cpu {

void fill(const Tensor& out, double value);
void copy(const Tensor& out, const Tensor& input);
void cast(const Tensor& out, const Tensor& input);
void add(const Tensor& out, const Tensor& a, const Tensor& b);
void add_scaled(const Tensor& out, double factor, const Tensor& input);
void scale(const Tensor& out, double factor);
void add_bias(const Tensor& out, const Tensor& input, const Tensor& bias);
void relu_forward(const Tensor& out, const Tensor& input);
void relu_backward(const Tensor& input_gradient, Write write, const Tensor& out_gradient, const Tensor& out);
void gelu_forward(const Tensor& out, const Tensor& input);
void gelu_backward_again(const Tensor& out, const Tensor& gradient, const Tensor& input);
void gelu_backward(const Tensor& input_gradient, Write write, const Tensor& out_gradient, const Tensor& input);

void exp_forward(const Tensor& out, const Tensor& input);
void silu_forward(const Tensor& out, const Tensor& input);
void silu_backward(const Tensor& input_gradient, Write write, const Tensor& out_gradient, const Tensor& input);

// Types and sizes are checked by the caller; `a` and `b` are read through their views.
void copy_view(const Tensor& out, const StridedView& to, Write write, const Tensor& input, const StridedView& from);
void add_broadcast(const Tensor& out, const Tensor& a, const StridedView& a_view, const Tensor& b,
                   const StridedView& b_view);
void multiply(const Tensor& out, Write write, const Tensor& a, const StridedView& a_view, const Tensor& b,
              const StridedView& b_view);
void sum_axis(const Tensor& out, Write write, const Tensor& input, const SumSizes& sizes);
void softmax_forward(const Tensor& out, const Tensor& input);
void softmax_backward(const Tensor& input_gradient, Write write, const Tensor& out_gradient, const Tensor& out);
void rms_norm_forward(const Tensor& out, const Tensor& reciprocal, const Tensor& input, const Tensor& gain,
                      double epsilon);
void rms_norm_backward(const Tensor& input_gradient, Write write, const Tensor& gain_gradient, Write gain_write,
                       const Tensor& out_gradient, const Tensor& reciprocal, const Tensor& input, const Tensor& gain);
void rotary(const Tensor& out, Write write, const Tensor& input, const Tensor& cos, const Tensor& sin,
            Rotation rotation);

void dropout_forward(const Tensor& out, const Tensor& input, const DropoutMask& mask, const Tensor& residual);

void embedding_forward(const Tensor& out, const Tensor& tokens, const Tensor& token_table,
                       const Tensor& position_table);
void embedding_token_gradient(const Tensor& token_gradient, Write write, const Tensor& out_gradient,
                              const Tensor& tokens);
void embedding_position_gradient(const Tensor& position_gradient, Write write, const Tensor& out_gradient);

void layer_norm_forward(const Tensor& out, const LayerNormStatistics& statistics, const Tensor& input,
                        const Tensor& gain, const Tensor& bias, double epsilon);
void add_layer_norm_forward(const Tensor& out, const Tensor& sum, const LayerNormStatistics& statistics,
                            const Tensor& a, const Tensor& b, const Tensor& gain, const Tensor& bias, double epsilon);
void layer_norm_backward(const Tensor& input_gradient, const Tensor& out_gradient,
                         const LayerNormStatistics& statistics, const Tensor& input, const Tensor& gain,
                         const Tensor& gain_gradient, const Tensor& bias_gradient, Write parameter_write,
                         const Tensor& skip_gradient);

void causal_attention_forward(const Tensor& out, const Tensor& log_sum_exp, const Tensor& qkv, int heads,
                              const DropoutMask& dropout);
void causal_attention_backward(const Tensor& qkv_gradient, const Tensor& out_gradient, const Tensor& out,
                               const Tensor& log_sum_exp, const Tensor& qkv, int heads, const DropoutMask& dropout);
void cached_attention_forward(const Tensor& out, const Tensor& keys, const Tensor& values, const Tensor& qkv, int heads,
                              std::int64_t past);

void matmul(const Tensor& out, const Tensor& a, Transpose a_transpose, const Tensor& b, Transpose b_transpose,
            Write write);
void linear_forward(const Tensor& out, const Tensor& input, const Tensor& weight, Transpose weight_transpose,
                    const Tensor& bias);
void bias_gradient(const Tensor& bias_gradient, Write write, const Tensor& out_gradient);

/// @throws ContractError  Not int32 [rows], or one is neither kIgnoredTarget nor in [0, vocabulary).
void require_targets(std::string_view operation, const Tensor& targets, std::int64_t rows, std::int64_t vocabulary);
void softmax_cross_entropy(const Tensor& losses, const Tensor& logits, const Tensor& targets, double gradient_scale);
void cross_entropy_loss(const Tensor& losses, const Tensor& logits, const Tensor& targets);
[[nodiscard]] double sum(const Tensor& values);
[[nodiscard]] double mean_squared_error(const Tensor& prediction_gradient, const Tensor& prediction,
                                        const Tensor& target, double gradient_scale);

}  // namespace lockstep::kernels::cpu
