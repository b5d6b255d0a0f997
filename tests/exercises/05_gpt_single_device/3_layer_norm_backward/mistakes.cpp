#include <algorithm>
#include <cstddef>

#include "05_gpt_single_device/3_layer_norm_backward/layer_norm_backward.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"direct_part_only", "the input's gradient is g / deviation, as if mean and deviation were constants",
     "Both depend on the input. What happens to the mean when one input grows?"},
    {"no_mean_of_g", "the term with the mean of g is missing",
     "An input also moves the row's mean, and with it all other outputs."},
    {"no_mean_of_gn", "the term with the mean of g * normalized is missing",
     "An input also changes the row's deviation, and with it all other outputs."},
    {"sums_for_means", "sums over the row are used where the formula has means", "Divide both sums by the channels."},
    {"forgets_gain", "the input's gradient is computed from the outputs' gradients without the gains",
     "g is the gradient of the normalized number: out_gradient * gain."},
    {"divides_by_reciprocal", "the result is divided by the reciprocal deviation instead of multiplied",
     "reciprocal_deviation is 1 / sqrt(variance + epsilon) already."},
    {"sums_of_all_rows", "the two sums are not set to 0 at the start of each row",
     "Both means belong to one row: declare the sums inside the loop over rows."},
    {"gain_from_input", "the gain's gradient uses the input as it is, not the normalized one",
     "What is the gain multiplied by in the forward pass?"},
    {"gain_in_bias", "the bias's gradient is multiplied by the gain",
     "The bias is added after the gain: what does out change by when the bias grows by 1?"},
    {"overwrites_parameters", "the gradients of gain and bias replace what is there",
     "The call adds its contribution: += from the first row on, without setting anything to 0."},
    {"adds_to_input_gradient", "the input's gradient is added to the numbers that were in its buffer before",
     "Only gain and bias collect gradients over several calls. Write the input's with =, not +=."},
    {"keeps_last_row", "gain and bias keep the contribution of the last row alone",
     "All rows use them: their gradients are sums over the rows, +=."},
    {"no_deviation", "the bracket is not multiplied by the reciprocal deviation",
     "The forward pass has divided by the deviation, so the gradient is divided by it too."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::kernels {

using exercise::is_mistake;

void layer_norm_backward(std::span<float> input_gradient, std::span<float> gain_gradient,
                         std::span<float> bias_gradient, std::span<const float> out_gradient,
                         const LayerNormInputs& forward) {
  const std::size_t channels = forward.gain.size();
  const float count = is_mistake("sums_for_means") ? 1 : static_cast<float>(channels);
  if (is_mistake("overwrites_parameters")) {
    std::ranges::fill(gain_gradient, 0.0F);
    std::ranges::fill(bias_gradient, 0.0F);
  }
  float sum_g = 0, sum_gn = 0;
  for (std::size_t row = 0; row < forward.mean.size(); ++row) {
    const auto x = forward.input.subspan(row * channels, channels);
    const auto dy = out_gradient.subspan(row * channels, channels);
    const float reciprocal = forward.reciprocal_deviation[row];
    const auto normalized = [&](std::size_t c) { return (x[c] - forward.mean[row]) * reciprocal; };
    const auto g = [&](std::size_t c) { return is_mistake("forgets_gain") ? dy[c] : dy[c] * forward.gain[c]; };
    if (!is_mistake("sums_of_all_rows")) sum_g = sum_gn = 0;
    for (std::size_t c = 0; c < channels; ++c) {
      if (is_mistake("keeps_last_row")) gain_gradient[c] = bias_gradient[c] = 0;
      gain_gradient[c] += dy[c] * (is_mistake("gain_from_input") ? x[c] : normalized(c));
      bias_gradient[c] += is_mistake("gain_in_bias") ? dy[c] * forward.gain[c] : dy[c];
      sum_g += g(c);
      sum_gn += g(c) * normalized(c);
    }
    const bool is_direct = is_mistake("direct_part_only");
    const float mean_g = is_direct || is_mistake("no_mean_of_g") ? 0 : sum_g / count;
    const float mean_gn = is_direct || is_mistake("no_mean_of_gn") ? 0 : sum_gn / count;
    float factor = is_mistake("divides_by_reciprocal") ? 1 / reciprocal : reciprocal;
    if (is_mistake("no_deviation")) factor = 1;
    for (std::size_t c = 0; c < channels; ++c) {
      float& result = input_gradient[row * channels + c];
      if (!is_mistake("adds_to_input_gradient")) result = 0;
      result += (g(c) - mean_g - normalized(c) * mean_gn) * factor;
    }
  }
}

}  // namespace lockstep::kernels
