#include "kernels/cuda/operations.hpp"
#include "kernels/device_ops.hpp"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

const DeviceOps& device_ops() {
  static constexpr DeviceOps kOps{
      .fill = fill,
      .cast = cast,
      .add = add,
      .add_scaled = add_scaled,
      .scale = scale,
      .add_bias = add_bias,
      .relu_forward = relu_forward,
      .relu_backward = relu_backward,
      .gelu_forward = gelu_forward,
      .gelu_backward = gelu_backward,
      .gelu_backward_again = gelu_backward_again,
      .dropout_forward = dropout_forward,
      .embedding_forward = embedding_forward,
      .embedding_token_gradient = embedding_token_gradient,
      .embedding_position_gradient = embedding_position_gradient,
      .layer_norm_forward = layer_norm_forward,
      .add_layer_norm_forward = add_layer_norm_forward,
      .layer_norm_backward = layer_norm_backward,
      .causal_attention_forward = causal_attention_forward,
      .causal_attention_backward = causal_attention_backward,
      .matmul = matmul,
      .bias_gradient = bias_gradient,
      .softmax_cross_entropy = softmax_cross_entropy,
      .cross_entropy_loss = cross_entropy_loss,
      .sum = sum,
      .squared_norm = squared_norm,
      .count_non_finite = count_non_finite,
      .squared_error = squared_error,
      .sgd_step = sgd_step,
      .adam_step = adam_step,
  };
  return kOps;
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
