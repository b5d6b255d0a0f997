#pragma once
/// @file
/// The functions behind the table of kernels/device_ops.hpp, where their parameters are described. Private to the
/// module.
#include "kernels/device_ops.hpp"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

using Array = DeviceArray;
using Context = const DeviceContext&;

void fill(Array out, double value, Context context);
void cast(Array out, Array input, Context context);
void add(Array out, Array a, Array b, Context context);
void add_scaled(Array out, double factor, Array input, Context context);
void scale(Array out, double factor, Context context);
void add_bias(Array out, Array input, Array bias, Context context);
void relu_forward(Array out, Array input, Context context);
void relu_backward(Array input_gradient, Write write, Array out_gradient, Array out, Context context);
void gelu_forward(Array out, Array input, Context context);
void gelu_backward(Array input_gradient, Write write, Array out_gradient, Array input, Context context);
void gelu_backward_again(Array out, Array gradient, Array input, Context context);
void dropout_forward(Array out, Array input, const DeviceDropout& mask, Array residual, Context context);

void embedding_forward(Array out, Array tokens, Array token_table, Array position_table, Context context);
void embedding_token_gradient(Array token_gradient, Write write, Array out_gradient, Array tokens, Context context);
void embedding_position_gradient(Array position_gradient, Write write, Array out_gradient, std::int64_t samples,
                                 Context context);

void layer_norm_forward(Array out, const DeviceNormStatistics& statistics, Array input, Array gain, Array bias,
                        double epsilon, Context context);
void add_layer_norm_forward(Array out, Array sum, const DeviceNormStatistics& statistics, Array a, Array b, Array gain,
                            Array bias, double epsilon, Context context);
void layer_norm_backward(Array input_gradient, Array out_gradient, const DeviceNormStatistics& statistics, Array input,
                         Array gain, Array gain_gradient, Array bias_gradient, Write parameter_write,
                         Array skip_gradient, Context context);

void causal_attention_forward(Array out, Array log_sum_exp, Array qkv, std::int64_t samples, int heads,
                              const DeviceDropout& dropout, Context context);
/// causal_attention_forward for bfloat16. Probabilities are rounded to bfloat16 before they meet the values.
void attention_on_tensor_cores(Array out, Array log_sum_exp, Array qkv, std::int64_t samples, int heads,
                               const DeviceDropout& dropout, Context context);
void causal_attention_backward(Array qkv_gradient, Array out_gradient, Array out, Array log_sum_exp, Array qkv,
                               std::int64_t samples, int heads, const DeviceDropout& dropout, Context context);

void matmul(Array out, Array a, Transpose a_transpose, Array b, Transpose b_transpose, Array bias, Write write,
            Context context);
void bias_gradient(Array bias_gradient, Write write, Array out_gradient, Context context);

void softmax_cross_entropy(Array losses, Array logits, Array targets, double gradient_scale, Context context);
void cross_entropy_loss(Array losses, Array logits, Array targets, Context context);

void sum(double* result, Array values, Context context);
void squared_norm(double* result, Array values, Context context);
void count_non_finite(double* result, Array values, Context context);
void squared_error(double* result, Array gradient, Array prediction, Array target, double gradient_factor,
                   Context context);

void sgd_step(Array parameter, Array velocity, Array gradient, const SgdOptions& options, Context context);
void adam_step(Array parameter, Array first_moment, Array second_moment, Array gradient, const AdamConstants& constants,
               Context context);

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
