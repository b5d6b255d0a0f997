#include "05_gpt_single_device/3_layer_norm_backward/layer_norm_backward.hpp"

#include <cstddef>

namespace lockstep::kernels {

void layer_norm_backward(std::span<float> input_gradient, std::span<float> gain_gradient,
                         std::span<float> bias_gradient, std::span<const float> out_gradient,
                         const LayerNormInputs& forward) {
  // TODO(05.3): row by row, add to the gradients of gain and bias, then write the input's
  lockstep::todo("05.3 layer_norm_backward");
}

}  // namespace lockstep::kernels
