#include "05_gpt_single_device/3_layer_norm_backward/layer_norm_backward.hpp"

#include <cstddef>

namespace lockstep::kernels {

void layer_norm_backward(std::span<float> input_gradient, std::span<float> gain_gradient,
                         std::span<float> bias_gradient, std::span<const float> out_gradient,
                         const LayerNormInputs& forward) {
  // SOLUTION(05.3) layer_norm_backward: row by row, add to the gradients of gain and bias, then write the input's
  const std::size_t channels = forward.gain.size();
  for (std::size_t row = 0; row < forward.mean.size(); ++row) {
    const auto x = forward.input.subspan(row * channels, channels);
    const auto dy = out_gradient.subspan(row * channels, channels);
    const float reciprocal = forward.reciprocal_deviation[row];
    const auto normalized = [&](std::size_t c) { return (x[c] - forward.mean[row]) * reciprocal; };

    float mean_g = 0, mean_gn = 0;  // of g = dy * gain, the gradient of the normalized row, and of g * normalized
    for (std::size_t c = 0; c < channels; ++c) {
      gain_gradient[c] += dy[c] * normalized(c);
      bias_gradient[c] += dy[c];
      mean_g += dy[c] * forward.gain[c];
      mean_gn += dy[c] * forward.gain[c] * normalized(c);
    }
    mean_g /= static_cast<float>(channels);
    mean_gn /= static_cast<float>(channels);
    for (std::size_t c = 0; c < channels; ++c) {
      const float g = dy[c] * forward.gain[c];
      input_gradient[row * channels + c] = (g - mean_g - normalized(c) * mean_gn) * reciprocal;
    }
  }
  // END SOLUTION
}

}  // namespace lockstep::kernels
