#pragma once
/// @file
/// The operations that a device has to offer: one function pointer for each, filled in by kernels/cuda. The public
/// functions (kernels/ops.hpp) check shapes, types and devices, then call one of these.
#include <cstdint>

#include "kernels/device_types.hpp"
#include "kernels/optimizer_types.hpp"
#include "kernels/types.hpp"

namespace lockstep::kernels {

/// Mean and reciprocal deviation of each row, [R] each: LayerNormStatistics (kernels/layer_norm.hpp).
struct DeviceNormStatistics {
  DeviceArray mean;                  ///< [R]
  DeviceArray reciprocal_deviation;  ///< [R]
};

/// Parameters and meaning are those of the public function of the same name, where nothing else is said; element types
/// are float32 or bfloat16 (float64 stays on the CPU) with float32 arithmetic. Sizes are checked before; a count of 0
/// is legal and launches nothing. An operation enqueues its work on context.stream and returns; what it launched wrong
/// is a CudaError. Results repeat bit for bit: no floating-point atomics.
struct DeviceOps {
  using Array = DeviceArray;             ///< For short.
  using Context = const DeviceContext&;  ///< For short.

  // Element by element; outputs may be inputs.
  void (*fill)(Array out, double value, Context context);                      ///< Not for bfloat16.
  void (*cast)(Array out, Array input, Context context);                       ///< float32 to bfloat16 or back.
  void (*add)(Array out, Array a, Array b, Context context);                   ///< out = a + b
  void (*add_scaled)(Array out, double factor, Array input, Context context);  ///< out += factor input
  void (*scale)(Array out, double factor, Context context);                    ///< out *= factor
  void (*add_bias)(Array out, Array input, Array bias, Context context);       ///< Not for bfloat16.
  void (*relu_forward)(Array out, Array input, Context context);               ///< As relu_forward().
  void (*relu_backward)(Array input_gradient, Write write, Array out_gradient, Array out,
                        Context context);                         ///< As the public one.
  void (*gelu_forward)(Array out, Array input, Context context);  ///< As gelu_forward().
  void (*gelu_backward)(Array input_gradient, Write write, Array out_gradient, Array input,
                        Context context);                                                ///< As the public one.
  void (*gelu_backward_again)(Array out, Array gradient, Array input, Context context);  ///< As gelu_backward_again().
  /// With an active mask, [B, ...] as rows that are whole multiples of B; `residual` may be undefined. Backward is the
  /// same function of the gradient.
  void (*dropout_forward)(Array out, Array input, const DeviceDropout& mask, Array residual, Context context);

  // Embeddings. Tokens are int32 [B, T], out and its gradient [B T, C].
  void (*embedding_forward)(Array out, Array tokens, Array token_table, Array position_table,
                            Context context);  ///< As the public one.
  /// Rows of one token are added in the order of (b, t).
  void (*embedding_token_gradient)(Array token_gradient, Write write, Array out_gradient, Array tokens,
                                   Context context);
  /// @param samples  B.
  void (*embedding_position_gradient)(Array position_gradient, Write write, Array out_gradient, std::int64_t samples,
                                      Context context);

  // Layer normalization over rows [R, C].
  void (*layer_norm_forward)(Array out, const DeviceNormStatistics& statistics, Array input, Array gain, Array bias,
                             double epsilon, Context context);  ///< As layer_norm_forward().
  void (*add_layer_norm_forward)(Array out, Array sum, const DeviceNormStatistics& statistics, Array a, Array b,
                                 Array gain, Array bias, double epsilon, Context context);  ///< As the public one.
  void (*layer_norm_backward)(Array input_gradient, Array out_gradient, const DeviceNormStatistics& statistics,
                              Array input, Array gain, Array gain_gradient, Array bias_gradient, Write parameter_write,
                              Array skip_gradient, Context context);  ///< As layer_norm_backward().

  // Attention. qkv and its gradient [B T, 3C], out [B T, C], log_sum_exp float32 [B H T]; samples is B.
  void (*causal_attention_forward)(Array out, Array log_sum_exp, Array qkv, std::int64_t samples, int heads,
                                   const DeviceDropout& dropout, Context context);  ///< As the public one.
  void (*causal_attention_backward)(Array qkv_gradient, Array out_gradient, Array out, Array log_sum_exp, Array qkv,
                                    std::int64_t samples, int heads, const DeviceDropout& dropout,
                                    Context context);  ///< As causal_attention_backward().

  // Matrix products, accumulated in float32.
  /// out = op(a) op(b) + bias, or added to out. @param bias  float32 [N], or undefined.
  void (*matmul)(Array out, Array a, Transpose a_transpose, Array b, Transpose b_transpose, Array bias, Write write,
                 Context context);
  void (*bias_gradient)(Array bias_gradient, Write write, Array out_gradient, Context context);  ///< Sum over rows.

  // Losses; logits [R, V], losses float32 [R], targets int32 [R].
  void (*softmax_cross_entropy)(Array losses, Array logits, Array targets, double gradient_scale,
                                Context context);                                          ///< As the public one.
  void (*cross_entropy_loss)(Array losses, Array logits, Array targets, Context context);  ///< As the public one.

  // Numbers. `result` is one double in device memory, overwritten.
  void (*sum)(double* result, Array values, Context context);               ///< As sum(). float32.
  void (*squared_norm)(double* result, Array values, Context context);      ///< As squared_norm(). float32.
  void (*count_non_finite)(double* result, Array values, Context context);  ///< How many are NaN or infinite.
  /// result = sum of (prediction - target)^2; gradient, where defined, = gradient_factor (prediction - target).
  void (*squared_error)(double* result, Array gradient, Array prediction, Array target, double gradient_factor,
                        Context context);

  // Updates, float32 [N].
  /// @param velocity  Undefined without momentum.
  void (*sgd_step)(Array parameter, Array velocity, Array gradient, const SgdOptions& options, Context context);
  void (*adam_step)(Array parameter, Array first_moment, Array second_moment, Array gradient,
                    const AdamConstants& constants, Context context);  ///< As adam_step().
};

}  // namespace lockstep::kernels
