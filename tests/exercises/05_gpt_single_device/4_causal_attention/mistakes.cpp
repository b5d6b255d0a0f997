#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "05_gpt_single_device/4_causal_attention/causal_attention.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"no_mask", "every position looks at all positions, later ones too",
     "Position i may use j <= i only: where does the loop over j end?"},
    {"mask_excludes_itself", "positions look only at those before them, not at themselves",
     "j <= i: position 0 would have nothing to look at."},
    {"masks_after_softmax", "later positions are left out of the output, but not out of the sum of exponentials",
     "The probabilities of a row must add up to 1: mask first, then softmax."},
    {"no_scale", "the scores are not divided by sqrt(D)",
     "Which formula of the score does the header have? D is the number of values in a row."},
    {"divides_by_d", "the scores are divided by D instead of its square root",
     "A sum of D products grows like sqrt(D) if the products are random."},
    {"no_maximum", "exponentials are taken of the scores as they are, and large ones are infinite",
     "Subtract the largest score of the row from all of them first."},
    {"log_sum_exp_of_differences", "log_sum_exp lacks the largest score, which was subtracted before",
     "log(sum of exp(score)) = largest + log(sum of exp(score - largest))."},
    {"no_mean_in_softmax", "the gradient of a score is probability * d probability, without subtracting M",
     "The probabilities add up to 1: raising one score lowers the other probabilities."},
    {"no_maximum_in_backward", "exp(score) is divided by exp(log_sum_exp), and both are infinite for large scores",
     "Subtract first: the probability is exp(score - log_sum_exp)."},
    {"backward_without_scale", "the factor 1 / sqrt(D) is missing in the gradients of query and key",
     "score = scale * (query . key): what is its derivative by the query?"},
    {"key_of_itself", "the gradient of the key goes to position i instead of j",
     "score[i, j] uses key[j]: that row gets the contribution."},
    {"overwrites_gradients", "rows of keys and values keep only the last contribution",
     "Many positions look at the same key and value: their contributions add up."},
    {"maximum_from_zero", "the search for the largest score begins with 0, so scores below 0 have no largest one",
     "Begin with the first score of the row, or with minus infinity."},
    {"maximum_of_all_keys", "the largest score is looked for among later positions, too",
     "Relative to a score that does not count, all exponentials of a row can be 0: look at j <= i only."},
    {"maximum_goes_on", "the largest score of the rows before is taken for that of a row whose own is smaller",
     "Each row has a maximum of its own: let the search begin anew in the loop over i."},
    {"adds_to_output", "rows of the output are added to the numbers that were in the buffer before",
     "add_scaled() adds: fill the row with zeros first."},
    {"adds_to_gradients", "the gradients are added to the numbers that were in the buffer before",
     "All three arrays are overwritten: fill them with zeros before the loops."},
    {"masks_with_zero", "later positions get the score 0 instead of being left out",
     "exp(0) is 1, so they still take part. Only the score minus infinity has the exponential 0."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::kernels {
namespace {

using exercise::is_mistake;

float scale_of(const HeadInputs<const float>& in) {
  const auto size = static_cast<float>(in.query.head_size());
  if (is_mistake("no_scale")) return 1;
  return is_mistake("divides_by_d") ? 1 / size : 1 / std::sqrt(size);
}

// How many positions i looks at.
std::size_t seen_by(std::size_t i, std::size_t length) {
  if (is_mistake("no_mask") || is_mistake("masks_with_zero")) return length;
  return is_mistake("mask_excludes_itself") ? i : i + 1;
}

}  // namespace

void head_forward(const HeadRows<float>& out, std::span<float> log_sum_exp, const HeadInputs<const float>& in) {
  const std::size_t length = in.query.length();
  float largest_so_far = -std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < length; ++i) {
    const std::size_t seen = seen_by(i, length);
    std::vector<float> weights(is_mistake("masks_after_softmax") ? length : seen);
    for (std::size_t j = 0; j < weights.size(); ++j)
      weights[j] = j > i && is_mistake("masks_with_zero") ? 0 : scale_of(in) * dot(in.query.row(i), in.key.row(j));
    float largest = 0, sum = 0;
    if (!weights.empty() && !is_mistake("no_maximum")) largest = *std::max_element(weights.begin(), weights.end());
    if (is_mistake("maximum_from_zero")) largest = std::max(largest, 0.0F);
    for (std::size_t j = 0; j < length && is_mistake("maximum_of_all_keys"); ++j)
      largest = std::max(largest, scale_of(in) * dot(in.query.row(i), in.key.row(j)));
    largest_so_far = std::max(largest_so_far, largest);
    if (is_mistake("maximum_goes_on")) largest = largest_so_far;
    for (float& weight : weights) sum += weight = std::exp(weight - largest);
    log_sum_exp[i] = std::log(sum) + (is_mistake("log_sum_exp_of_differences") ? 0 : largest);
    if (!is_mistake("adds_to_output")) std::ranges::fill(out.row(i), 0.0F);
    for (std::size_t j = 0; j < seen; ++j) add_scaled(out.row(i), weights[j] / sum, in.value.row(j));
  }
}

void head_backward(const HeadInputs<float>& gradient, const HeadRows<const float>& out_gradient,
                   const HeadRows<const float>& out, std::span<const float> log_sum_exp,
                   const HeadInputs<const float>& in) {
  const std::size_t length = in.query.length();
  const float score_scale = scale_of(in), scale = is_mistake("backward_without_scale") ? 1 : score_scale;
  for (const auto* rows : {&gradient.query, &gradient.key, &gradient.value})
    for (std::size_t i = 0; i < length && !is_mistake("adds_to_gradients"); ++i) std::ranges::fill(rows->row(i), 0.0F);
  for (std::size_t i = 0; i < length; ++i) {
    const auto d_out = out_gradient.row(i);
    const float mean = is_mistake("no_mean_in_softmax") ? 0 : dot(d_out, out.row(i));
    for (std::size_t j = 0; j < seen_by(i, length); ++j) {
      const float score = score_scale * dot(in.query.row(i), in.key.row(j));
      const float probability = is_mistake("no_maximum_in_backward") ? std::exp(score) / std::exp(log_sum_exp[i])
                                                                     : std::exp(score - log_sum_exp[i]);
      const float d_score = probability * (dot(d_out, in.value.row(j)) - mean);
      const std::span<float> d_value = gradient.value.row(j);
      const std::span<float> d_key = gradient.key.row(is_mistake("key_of_itself") ? i : j);
      if (is_mistake("overwrites_gradients")) {
        std::ranges::fill(d_value, 0.0F);
        std::ranges::fill(d_key, 0.0F);
      }
      add_scaled(d_value, probability, d_out);
      add_scaled(gradient.query.row(i), scale * d_score, in.key.row(j));
      add_scaled(d_key, scale * d_score, in.query.row(i));
    }
  }
}

}  // namespace lockstep::kernels
