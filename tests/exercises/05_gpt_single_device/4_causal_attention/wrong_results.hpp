#pragma once
/// @file
/// What the wrong rules of 05.4 give.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "wrong_rules.hpp"

namespace lockstep::exercise {

/// The results of the forward pass.
struct AttentionResult {
  std::vector<double> out;          ///< [B, T, C]
  std::vector<double> log_sum_exp;  ///< [B, H, T]
};

/// Calls `use(head)` for each head of each sample.
void each_head(const AttentionCase& in, const auto& use) {
  for (std::size_t b = 0; b < in.samples; ++b)
    for (std::size_t h = 0; h < in.heads; ++h) use(HeadNumbers(in, b, h));
}

/// One past the last position that position i looks at.
inline std::size_t end_of(Mask mask, std::size_t i, std::size_t length) {
  return mask == Mask::kCausal ? i + 1 : mask == Mask::kStrict ? i : length;
}

/// A row of scores, or of what stands in for them.
inline std::vector<double> scores_by(const WrongForward& rule, const AttentionCase& in, const HeadNumbers& head,
                                     std::size_t i) {
  using enum WrongForward::Scale;
  const auto size = static_cast<double>(in.head_size());
  const double factor = rule.scale == kNone        ? 1
                        : rule.scale == kByD       ? 1 / size
                        : rule.scale == kTimesRoot ? std::sqrt(size)
                        : rule.scale == kByLength  ? 1 / std::sqrt(static_cast<double>(in.length))
                                                   : 1 / std::sqrt(size);
  std::vector<double> scores;
  for (std::size_t j = 0; j < end_of(rule.mask, i, in.length); ++j) {
    const double product = rule.swapped ? head.dot(1, i, 0, j) : head.dot(0, i, 1, j);
    scores.push_back(rule.mask == Mask::kZeroScores && j > i ? 0 : factor * product);
  }
  return scores;
}

/// The forward pass by this rule.
inline AttentionResult forward_by(const WrongForward& rule, const AttentionCase& in) {
  using Share = WrongForward::Share;
  using Sum = WrongForward::Sum;
  AttentionResult result{std::vector<double>(in.samples * in.length * in.channels),
                         std::vector<double>(in.samples * in.heads * in.length)};
  each_head(in, [&](const HeadNumbers& head) {
    for (std::size_t i = 0; i < in.length; ++i) {
      std::vector<double> weights = scores_by(rule, in, head, i);
      const double largest = weights.empty() ? 0 : *std::ranges::max_element(weights);
      double sum = 0;
      for (double& weight : weights) sum += weight = std::exp(weight - largest);
      result.log_sum_exp[head.sum_index(i)] = rule.sum == Sum::kWithoutLargest      ? std::log(sum)
                                              : rule.sum == Sum::kLargestSubtracted ? std::log(sum) - largest
                                              : rule.sum == Sum::kNotLogarithm      ? sum
                                              : rule.sum == Sum::kBinary            ? std::log2(sum) + largest
                                                                                    : std::log(sum) + largest;
      if (rule.share == Share::kNotNormalized) sum = 1;
      if (rule.share == Share::kByCount) sum = static_cast<double>(weights.size());
      for (std::size_t j = 0; j < weights.size(); ++j)
        for (std::size_t d = 0; d < in.head_size(); ++d) {
          double& out = result.out[head.out_index(i, d)];
          if (rule.share == Share::kLastOnly) out = 0;
          out += weights[j] / sum * head.at(2, rule.share == Share::kOwnValue ? i : j, d);
        }
    }
  });
  return result;
}

/// The backward pass by this rule, [B, T, 3C]. @param result  Of the right forward pass.
inline std::vector<double> backward_by(const WrongBackward& rule, const AttentionCase& in,
                                       std::span<const float> out_gradient, const AttentionResult& result) {
  using Probability = WrongBackward::Probability;
  using Score = WrongBackward::Score;
  using Value = WrongBackward::Value;
  std::vector<double> gradient(in.qkv.size());
  const std::size_t size = in.head_size();
  const double scale = 1 / std::sqrt(static_cast<double>(size));
  each_head(in, [&](const HeadNumbers& head) {
    const auto d_out = [&](std::size_t i, std::size_t d) -> double { return out_gradient[head.out_index(i, d)]; };
    const auto d_probability = [&](std::size_t i, std::size_t j) {
      double sum = 0;
      for (std::size_t d = 0; d < size; ++d) sum += d_out(i, d) * head.at(2, j, d);
      return sum;
    };
    for (std::size_t i = 0; i < in.length; ++i) {
      double mean = 0;
      for (std::size_t d = 0; d < size; ++d) mean += d_out(i, d) * result.out[head.out_index(i, d)];
      if (rule.score == Score::kMeanUnweighted) {
        mean = 0;
        for (std::size_t j = 0; j <= i; ++j) mean += d_probability(i, j);
      }
      for (std::size_t j = 0; j < end_of(rule.mask, i, in.length); ++j) {
        const double product = head.dot(0, i, 1, j), sum = result.log_sum_exp[head.sum_index(i)];
        const double p = rule.probability == Probability::kExponential ? std::exp(scale * product)
                         : rule.probability == Probability::kOverSum   ? std::exp(scale * product) / sum
                         : rule.probability == Probability::kUnscaled  ? std::exp(product - sum)
                         : rule.probability == Probability::kOfOtherRow
                             ? std::exp(scale * product - result.log_sum_exp[head.sum_index(j)])
                             : std::exp(scale * product - sum);
        const double dp = d_probability(i, j);
        const double score = rule.score == Score::kWithoutMean          ? p * dp
                             : rule.score == Score::kPlusMean           ? p * (dp + mean)
                             : rule.score == Score::kWithoutProbability ? dp - mean
                             : rule.score == Score::kDiagonal           ? p * (1 - p) * dp
                                                                        : p * (dp - mean);
        const double of_query = score * std::pow(scale, rule.query_scales);
        const double of_key = score * std::pow(scale, rule.key_scales);
        const std::size_t to_query = rule.wrong_targets ? j : i;
        const std::size_t to_key = rule.wrong_targets || rule.key_to_own ? i : j;
        const std::size_t to_value = rule.value == Value::kToOwn || rule.value == Value::kOwnRow ? i : j;
        for (std::size_t d = 0; d < size; ++d) {
          double& value = gradient[head.gradient_index(2, to_value, d)];
          double& key = gradient[head.gradient_index(1, to_key, d)];
          if (rule.replaces) value = key = 0;
          const bool from_other = rule.value == Value::kFromOther || rule.value == Value::kToOwn;
          value += (rule.value == Value::kTimesGradient ? dp : p) *
                   (rule.value == Value::kTimesValue ? head.at(2, i, d) : d_out(from_other ? j : i, d));
          gradient[head.gradient_index(0, to_query, d)] +=
              of_query * head.at(rule.own_rows ? 0 : 1, rule.wrong_targets ? i : j, d);
          key += of_key * head.at(rule.own_rows ? 1 : 0, rule.wrong_targets ? j : i, d);
        }
      }
    }
  });
  return gradient;
}

}  // namespace lockstep::exercise
