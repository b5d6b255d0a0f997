#include "05_gpt_single_device/4_causal_attention/causal_attention.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace lockstep::kernels {

void head_forward(const HeadRows<float>& out, std::span<float> log_sum_exp, const HeadInputs<const float>& in) {
  // TODO(05.4): for each position, the scores up to itself, their softmax, and the mean of the values
  lockstep::todo("05.4 head_forward");
}

void head_backward(const HeadInputs<float>& gradient, const HeadRows<const float>& out_gradient,
                   const HeadRows<const float>& out, std::span<const float> log_sum_exp,
                   const HeadInputs<const float>& in) {
  // TODO(05.4): for each pair of positions, from the gradient of out to those of value, query and key
  lockstep::todo("05.4 head_backward");
}

}  // namespace lockstep::kernels
