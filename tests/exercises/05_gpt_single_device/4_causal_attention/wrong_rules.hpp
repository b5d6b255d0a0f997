#pragma once
/// @file
/// What people write in place of the formulas of exercise 05.4, and what comes of it: the judge compares it with what a
/// learner's functions have computed.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace lockstep::exercise {

/// B samples, T positions, C channels and H heads, and their queries, keys and values.
struct AttentionCase {
  std::size_t samples, length, channels, heads;
  std::vector<float> qkv;  ///< [B, T, 3C]

  [[nodiscard]] std::size_t head_size() const { return channels / heads; }
  /// Of query (0), key (1) or value (2).
  [[nodiscard]] std::size_t index(std::size_t part, std::size_t sample, std::size_t position,
                                  std::size_t channel) const {
    return (sample * length + position) * 3 * channels + part * channels + channel;
  }
};

/// The numbers of one head that the functions below work with, in double precision.
class HeadNumbers {
 public:
  HeadNumbers(const AttentionCase& in, std::size_t sample, std::size_t head) : in_(in), sample_(sample), head_(head) {}

  [[nodiscard]] double at(std::size_t part, std::size_t position, std::size_t d) const {
    return in_.qkv[in_.index(part, sample_, position, head_ * in_.head_size() + d)];
  }
  [[nodiscard]] double dot(std::size_t part, std::size_t i, std::size_t other_part, std::size_t j) const {
    double sum = 0;
    for (std::size_t d = 0; d < in_.head_size(); ++d) sum += at(part, i, d) * at(other_part, j, d);
    return sum;
  }
  /// Of position `i` in an array [B, T, C].
  [[nodiscard]] std::size_t out_index(std::size_t i, std::size_t d) const {
    return (sample_ * in_.length + i) * in_.channels + head_ * in_.head_size() + d;
  }
  [[nodiscard]] std::size_t gradient_index(std::size_t part, std::size_t i, std::size_t d) const {
    return in_.index(part, sample_, i, head_ * in_.head_size() + d);
  }
  /// In an array [B, H, T].
  [[nodiscard]] std::size_t sum_index(std::size_t i) const { return (sample_ * in_.heads + head_) * in_.length + i; }

 private:
  const AttentionCase& in_;
  std::size_t sample_, head_;
};

/// Which positions a position looks at.
enum class Mask { kCausal, kNone, kStrict, kZeroScores };

/// A wrong forward pass.
struct WrongForward {
  enum class Scale { kRight, kNone, kByD, kTimesRoot, kByLength };
  enum class Share { kRight, kNotNormalized, kByCount, kOwnValue, kLastOnly };
  enum class Sum { kRight, kWithoutLargest, kLargestSubtracted, kNotLogarithm, kBinary };

  const char* what;  ///< Continues "that is what comes out if ".
  Scale scale = Scale::kRight;
  Mask mask = Mask::kCausal;
  Share share = Share::kRight;
  Sum sum = Sum::kRight;
  bool swapped = false;
};

inline constexpr WrongForward kWrongForwards[] = {
    {.what = "the scores are not divided by sqrt(D)", .scale = WrongForward::Scale::kNone},
    {.what = "the scores are divided by D instead of its root", .scale = WrongForward::Scale::kByD},
    {.what = "the scores are multiplied by sqrt(D) instead of divided", .scale = WrongForward::Scale::kTimesRoot},
    {.what = "the scores are divided by sqrt(T), the root of the number of positions, instead of sqrt(D)",
     .scale = WrongForward::Scale::kByLength},
    {.what = "every position looks at all positions, later ones too", .mask = Mask::kNone},
    {.what = "later positions get the score 0, which still has exp(0) = 1: leave them out", .mask = Mask::kZeroScores},
    {.what = "a position does not look at itself", .mask = Mask::kStrict},
    {.what = "key[i] is multiplied by query[j]: the score of i for j is query[i] . key[j]", .swapped = true},
    {.what = "the exponentials are not divided by their sum", .share = WrongForward::Share::kNotNormalized},
    {.what = "the exponentials are divided by their number, not by their sum", .share = WrongForward::Share::kByCount},
    {.what = "each probability is multiplied by value[i] instead of value[j]", .share = WrongForward::Share::kOwnValue},
    {.what = "each position replaces what those before it have added to the row",
     .share = WrongForward::Share::kLastOnly},
    {.what = "log_sum_exp lacks the largest score, which was subtracted", .sum = WrongForward::Sum::kWithoutLargest},
    {.what = "the largest score is subtracted from log_sum_exp instead of added",
     .sum = WrongForward::Sum::kLargestSubtracted},
    {.what = "log_sum_exp is the sum of exp(score - largest), not its logarithm",
     .sum = WrongForward::Sum::kNotLogarithm},
    {.what = "the logarithm in log_sum_exp is the binary one", .sum = WrongForward::Sum::kBinary},
};

/// A wrong backward pass.
struct WrongBackward {
  enum class Probability { kRight, kExponential, kOverSum, kOfOtherRow, kUnscaled };
  enum class Score { kRight, kWithoutMean, kPlusMean, kMeanUnweighted, kWithoutProbability, kDiagonal };
  enum class Value { kRight, kFromOther, kToOwn, kOwnRow, kTimesValue, kTimesGradient };

  const char* what;  ///< Continues "that is what comes out if ".
  Mask mask = Mask::kCausal;
  Probability probability = Probability::kRight;
  Score score = Score::kRight;
  Value value = Value::kRight;
  double query_scales = 1, key_scales = 1;  // how often 1 / sqrt(D) is in the gradients
  bool own_rows = false, wrong_targets = false, key_to_own = false, replaces = false;
};

inline constexpr WrongBackward kWrongBackwards[] = {
    {.what = "M is not subtracted in the gradient of the score", .score = WrongBackward::Score::kWithoutMean},
    {.what = "M is added in the gradient of the score instead of subtracted", .score = WrongBackward::Score::kPlusMean},
    {.what = "M is a sum of d probability, not weighted with the probabilities",
     .score = WrongBackward::Score::kMeanUnweighted},
    {.what = "the gradient of the score is not multiplied by the probability",
     .score = WrongBackward::Score::kWithoutProbability},
    {.what = "the gradient of the score is p * (1 - p) * d probability: softmax is not a sigmoid function, and each "
             "score changes all probabilities of its row",
     .score = WrongBackward::Score::kDiagonal},
    {.what = "later positions are not left out of the backward pass", .mask = Mask::kNone},
    {.what = "a position is left out of its own backward pass", .mask = Mask::kStrict},
    {.what = "the score in the backward pass is not divided by sqrt(D)",
     .probability = WrongBackward::Probability::kUnscaled},
    {.what = "the probability is exp(score), without log_sum_exp",
     .probability = WrongBackward::Probability::kExponential},
    {.what = "exp(score) is divided by log_sum_exp: it is the logarithm of the sum",
     .probability = WrongBackward::Probability::kOverSum},
    {.what = "log_sum_exp[j] is used in place of log_sum_exp[i]",
     .probability = WrongBackward::Probability::kOfOtherRow},
    {.what = "1 / sqrt(D) is missing in the gradients of query and key", .query_scales = 0, .key_scales = 0},
    {.what = "1 / sqrt(D) is missing in the gradient of the key", .key_scales = 0},
    {.what = "1 / sqrt(D) is missing in the gradient of the query", .query_scales = 0},
    {.what = "1 / sqrt(D) is in the gradients of query and key twice", .query_scales = 2, .key_scales = 2},
    {.what = "d value[j] gets d out[j] instead of d out[i]", .value = WrongBackward::Value::kFromOther},
    {.what = "d value[i] gets the contribution of d out[j]", .value = WrongBackward::Value::kToOwn},
    {.what = "the gradient of the value goes to position i instead of j", .value = WrongBackward::Value::kOwnRow},
    {.what = "d value[j] gets value[i] instead of d out[i]", .value = WrongBackward::Value::kTimesValue},
    {.what = "d value[j] is weighted with d probability instead of the probability",
     .value = WrongBackward::Value::kTimesGradient},
    {.what = "the query's gradient is made of queries and the key's of keys: each gets the other", .own_rows = true},
    {.what = "d query[j] and d key[i] get the contributions of d query[i] and d key[j]", .wrong_targets = true},
    {.what = "the gradient of the key goes to position i instead of j", .key_to_own = true},
    {.what = "rows of keys and values keep only the last contribution", .replaces = true},
};

}  // namespace lockstep::exercise
