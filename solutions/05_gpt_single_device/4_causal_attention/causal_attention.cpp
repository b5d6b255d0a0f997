#include "05_gpt_single_device/4_causal_attention/causal_attention.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace lockstep::kernels {

void head_forward(const HeadRows<float>& out, std::span<float> log_sum_exp, const HeadInputs<const float>& in) {
  // SOLUTION(05.4) head_forward: for each position, the scores up to itself, their softmax, and the mean of the values
  const float scale = 1 / std::sqrt(static_cast<float>(in.query.head_size()));
  std::vector<float> weights;
  for (std::size_t i = 0; i < in.query.length(); ++i) {
    weights.assign(i + 1, 0);
    for (std::size_t j = 0; j <= i; ++j) weights[j] = scale * dot(in.query.row(i), in.key.row(j));
    const float largest = *std::max_element(weights.begin(), weights.end());  // exp() of large scores is infinite
    float sum = 0;
    for (float& weight : weights) sum += weight = std::exp(weight - largest);
    log_sum_exp[i] = largest + std::log(sum);
    std::ranges::fill(out.row(i), 0.0F);
    for (std::size_t j = 0; j <= i; ++j) add_scaled(out.row(i), weights[j] / sum, in.value.row(j));
  }
  // END SOLUTION
}

void head_backward(const HeadInputs<float>& gradient, const HeadRows<const float>& out_gradient,
                   const HeadRows<const float>& out, std::span<const float> log_sum_exp,
                   const HeadInputs<const float>& in) {
  // SOLUTION(05.4) head_backward: for each pair of positions, from the gradient of out to those of value, query and key
  const float scale = 1 / std::sqrt(static_cast<float>(in.query.head_size()));
  for (const auto* rows : {&gradient.query, &gradient.key, &gradient.value})
    for (std::size_t i = 0; i < rows->length(); ++i) std::ranges::fill(rows->row(i), 0.0F);
  for (std::size_t i = 0; i < in.query.length(); ++i) {
    const auto d_out = out_gradient.row(i);
    const float mean = dot(d_out, out.row(i));  // of the probabilities' gradients, weighted with the probabilities
    for (std::size_t j = 0; j <= i; ++j) {
      const float probability = std::exp(scale * dot(in.query.row(i), in.key.row(j)) - log_sum_exp[i]);
      const float d_score = probability * (dot(d_out, in.value.row(j)) - mean);
      add_scaled(gradient.value.row(j), probability, d_out);
      add_scaled(gradient.query.row(i), scale * d_score, in.key.row(j));
      add_scaled(gradient.key.row(j), scale * d_score, in.query.row(i));
    }
  }
  // END SOLUTION
}

}  // namespace lockstep::kernels
