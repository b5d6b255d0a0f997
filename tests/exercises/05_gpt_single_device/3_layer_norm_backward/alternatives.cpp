#include "exercise/alternatives.hpp"

#include <cstddef>
#include <vector>

#include "05_gpt_single_device/3_layer_norm_backward/layer_norm_backward.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"chain_rule",
     "by the gradients of variance and mean, as in a course on backpropagation, and with a pass over the columns for "
     "gain and bias"},
    {"factored", "in floats, with the factor 1 / C outside of the bracket"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::kernels {

using exercise::is_alternative;

namespace {

void by_chain_rule(std::span<float> input_gradient, std::span<float> gain_gradient, std::span<float> bias_gradient,
                   std::span<const float> out_gradient, const LayerNormInputs& forward) {
  const std::size_t channels = forward.gain.size(), rows = forward.mean.size();
  const auto count = static_cast<double>(channels);
  for (std::size_t c = 0; c < channels; ++c) {
    double gain = 0, bias = 0;
    for (std::size_t r = 0; r < rows; ++r) {
      const double dy = out_gradient[r * channels + c];
      gain += dy * (forward.input[r * channels + c] - forward.mean[r]) * forward.reciprocal_deviation[r];
      bias += dy;
    }
    gain_gradient[c] += static_cast<float>(gain);
    bias_gradient[c] += static_cast<float>(bias);
  }
  for (std::size_t r = 0; r < rows; ++r) {
    const double reciprocal = forward.reciprocal_deviation[r];
    const auto g = [&](std::size_t c) { return double{out_gradient[r * channels + c]} * forward.gain[c]; };
    const auto centred = [&](std::size_t c) { return double{forward.input[r * channels + c]} - forward.mean[r]; };
    double by_variance = 0, by_mean = 0;
    for (std::size_t c = 0; c < channels; ++c) {
      by_variance -= g(c) * centred(c) * reciprocal * reciprocal * reciprocal / 2;
      by_mean -= g(c) * reciprocal;
    }
    for (std::size_t c = 0; c < channels; ++c)
      input_gradient[r * channels + c] =
          static_cast<float>(g(c) * reciprocal + by_variance * 2 * centred(c) / count + by_mean / count);
  }
}

}  // namespace

void layer_norm_backward(std::span<float> input_gradient, std::span<float> gain_gradient,
                         std::span<float> bias_gradient, std::span<const float> out_gradient,
                         const LayerNormInputs& forward) {
  if (is_alternative("chain_rule"))
    return by_chain_rule(input_gradient, gain_gradient, bias_gradient, out_gradient, forward);
  const std::size_t channels = forward.gain.size();
  std::vector<float> normalized(channels), g(channels);
  for (std::size_t begin = 0, r = 0; begin < out_gradient.size(); begin += channels, ++r) {
    float sum_g = 0, sum_gn = 0;
    for (std::size_t c = 0; c < channels; ++c) {
      normalized[c] = (forward.input[begin + c] - forward.mean[r]) * forward.reciprocal_deviation[r];
      g[c] = out_gradient[begin + c] * forward.gain[c];
      sum_g += g[c];
      sum_gn += g[c] * normalized[c];
      bias_gradient[c] += out_gradient[begin + c];
      gain_gradient[c] += out_gradient[begin + c] * normalized[c];
    }
    const auto count = static_cast<float>(channels);
    for (std::size_t c = 0; c < channels; ++c)
      input_gradient[begin + c] =
          forward.reciprocal_deviation[r] / count * (count * g[c] - sum_g - normalized[c] * sum_gn);
  }
}

}  // namespace lockstep::kernels
