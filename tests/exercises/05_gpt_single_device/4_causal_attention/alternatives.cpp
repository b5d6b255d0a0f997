#include "exercise/alternatives.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "05_gpt_single_device/4_causal_attention/causal_attention.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"online",
     "the softmax of FlashAttention, which takes one key at a time, and a backward pass by keys and then by queries"},
    {"sums_mean",
     "M by its definition, as a sum over the row, and each row of gradients cleared when it is first used"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::kernels {

using exercise::is_alternative;

namespace {

float score_of(const HeadInputs<const float>& in, std::size_t i, std::size_t j) {
  return dot(in.query.row(i), in.key.row(j)) / std::sqrt(static_cast<float>(in.query.head_size()));
}

void forward_online(const HeadRows<float>& out, std::span<float> log_sum_exp, const HeadInputs<const float>& in) {
  for (std::size_t i = 0; i < in.query.length(); ++i) {
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    std::vector<double> mean(in.query.head_size());
    for (std::size_t j = 0; j <= i; ++j) {
      const double score = score_of(in, i, j), new_largest = std::max(largest, score);
      const double kept = std::exp(largest - new_largest), weight = std::exp(score - new_largest);
      largest = new_largest;
      sum = sum * kept + weight;
      for (std::size_t d = 0; d < mean.size(); ++d) mean[d] = mean[d] * kept + weight * in.value.row(j)[d];
    }
    for (std::size_t d = 0; d < mean.size(); ++d) out.row(i)[d] = static_cast<float>(mean[d] / sum);
    log_sum_exp[i] = static_cast<float>(largest + std::log(sum));
  }
}

void backward_by_keys(const HeadInputs<float>& gradient, const HeadRows<const float>& out_gradient,
                      const HeadRows<const float>& out, std::span<const float> log_sum_exp,
                      const HeadInputs<const float>& in) {
  const std::size_t length = in.query.length(), size = in.query.head_size();
  const double scale = 1 / std::sqrt(static_cast<double>(size));
  const auto probability = [&](std::size_t i, std::size_t j) { return std::exp(score_of(in, i, j) - log_sum_exp[i]); };
  const auto d_product = [&](std::size_t i, std::size_t j) {
    const auto d_out = out_gradient.row(i);
    return scale * probability(i, j) * (dot(d_out, in.value.row(j)) - dot(d_out, out.row(i)));
  };
  for (std::size_t d = 0; d < size; ++d) {
    for (std::size_t j = 0; j < length; ++j) {
      double key = 0, value = 0;
      for (std::size_t i = length; i-- > j;) {
        key += d_product(i, j) * in.query.row(i)[d];
        value += probability(i, j) * out_gradient.row(i)[d];
      }
      gradient.key.row(j)[d] = static_cast<float>(key);
      gradient.value.row(j)[d] = static_cast<float>(value);
    }
    for (std::size_t i = 0; i < length; ++i) {
      double query = 0;
      for (std::size_t j = 0; j <= i; ++j) query += d_product(i, j) * in.key.row(j)[d];
      gradient.query.row(i)[d] = static_cast<float>(query);
    }
  }
}

}  // namespace

void head_forward(const HeadRows<float>& out, std::span<float> log_sum_exp, const HeadInputs<const float>& in) {
  if (is_alternative("online")) return forward_online(out, log_sum_exp, in);
  for (std::size_t i = 0; i < in.query.length(); ++i) {
    std::vector<float> scores;
    for (std::size_t j = 0; j <= i; ++j) scores.push_back(score_of(in, i, j));
    const float largest = std::ranges::max(scores);
    float sum = 0;
    for (const float score : scores) sum += std::exp(score - largest);
    log_sum_exp[i] = largest + std::log(sum);
    std::ranges::fill(out.row(i), 0.0F);
    for (std::size_t j = 0; j <= i; ++j) add_scaled(out.row(i), std::exp(scores[j] - log_sum_exp[i]), in.value.row(j));
  }
}

void head_backward(const HeadInputs<float>& gradient, const HeadRows<const float>& out_gradient,
                   const HeadRows<const float>& out, std::span<const float> log_sum_exp,
                   const HeadInputs<const float>& in) {
  if (is_alternative("online")) return backward_by_keys(gradient, out_gradient, out, log_sum_exp, in);
  const float scale = 1 / std::sqrt(static_cast<float>(in.query.head_size()));
  for (std::size_t i = 0; i < in.query.length(); ++i) {
    for (const auto* rows : {&gradient.query, &gradient.key, &gradient.value}) std::ranges::fill(rows->row(i), 0.0F);
    std::vector<float> probabilities, d_probabilities;
    float mean = 0;
    for (std::size_t j = 0; j <= i; ++j) {
      probabilities.push_back(std::exp(score_of(in, i, j) - log_sum_exp[i]));
      d_probabilities.push_back(dot(out_gradient.row(i), in.value.row(j)));
      mean += probabilities[j] * d_probabilities[j];
    }
    for (std::size_t j = 0; j <= i; ++j) {
      add_scaled(gradient.value.row(j), probabilities[j], out_gradient.row(i));
      const float d_score = scale * probabilities[j] * (d_probabilities[j] - mean);
      add_scaled(gradient.query.row(i), d_score, in.key.row(j));
      add_scaled(gradient.key.row(j), d_score, in.query.row(i));
    }
  }
}

}  // namespace lockstep::kernels
