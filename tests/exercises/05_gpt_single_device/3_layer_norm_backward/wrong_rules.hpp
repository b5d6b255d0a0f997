#pragma once
/// @file
/// What people write in place of the formulas of exercise 05.3, and the gradients that come of it: the judge compares
/// them with what a learner's function has computed.
#include <cstddef>
#include <span>
#include <vector>

namespace lockstep::exercise {

/// A layer norm's backward pass with one mistake. Letters: R rows, C channels.
struct LayerNormRule {
  enum class Normalized { kRight, kInput, kNoMean, kNoDeviation, kDivided };
  enum class Divisor { kChannels, kOne, kRows, kOneLess };

  const char* what;  ///< Continues "that is what comes out if ".
  Normalized normalized = Normalized::kRight;
  Divisor divisor = Divisor::kChannels;      // of the sums over the row
  double mean_g = 1, mean_gn = 1;            // signs of the two terms; 0: missing
  double deviation_power = 1;                // of the reciprocal deviation in the input's gradient
  bool first_term_only_scaled = false;       // by the reciprocal deviation
  bool mean_gn_alone = false;                // not multiplied by normalized[c]
  bool no_gain = false, gain_twice = false;  // in g
  bool means_of_out_gradient = false;        // in place of g
  bool gain_from_g = false, bias_from_g = false, no_normalized = false, swapped = false;
  bool keeps_sums = false;  // from row to row
  bool transposed = false;  // row r begins at r, and its channels are R apart
  double parameter_factor = 1, parameter_per_rows = 0, parameter_per_channels = 0;
  bool only_last_row = false;  // assigns in place of adding
};

inline constexpr LayerNormRule kLayerNormRules[] = {
    {.what = "the normalized number is the input as it is", .normalized = LayerNormRule::Normalized::kInput},
    {.what = "the mean is not subtracted in the normalized number", .normalized = LayerNormRule::Normalized::kNoMean},
    {.what = "the normalized number lacks the reciprocal deviation",
     .normalized = LayerNormRule::Normalized::kNoDeviation},
    {.what = "the difference from the mean is divided by the reciprocal deviation: multiply",
     .normalized = LayerNormRule::Normalized::kDivided},
    {.what = "the gain's gradient is a sum of out_gradient, without the normalized number", .no_normalized = true},
    {.what = "the gradients of gain and bias are exchanged", .swapped = true},
    {.what = "the gradients of gain and bias are made of out_gradient * gain",
     .gain_from_g = true,
     .bias_from_g = true},
    {.what = "the gain's gradient is made of out_gradient * gain", .gain_from_g = true},
    {.what = "the bias's gradient is made of out_gradient * gain", .bias_from_g = true},
    {.what = "the gradients of gain and bias are divided by the number of rows: they are sums",
     .parameter_per_rows = 1},
    {.what = "the gradients of gain and bias are divided by the number of channels: they are sums",
     .parameter_per_channels = 1},
    {.what = "the gradients of gain and bias are subtracted instead of added", .parameter_factor = -1},
    {.what = "each row replaces what the rows before it have given to gain and bias", .only_last_row = true},
    {.what = "row and column are exchanged in the index: row r begins at element r * C", .transposed = true},
    {.what = "both means are left out, as if mean and deviation were constants", .mean_g = 0, .mean_gn = 0},
    {.what = "the mean of g is left out", .mean_g = 0},
    {.what = "the mean of g * normalized is left out", .mean_gn = 0},
    {.what = "the mean of g is added instead of subtracted", .mean_g = -1},
    {.what = "the mean of g * normalized is added instead of subtracted", .mean_gn = -1},
    {.what = "both means are added instead of subtracted", .mean_g = -1, .mean_gn = -1},
    {.what = "the mean of g * normalized is not multiplied by normalized[c]", .mean_gn_alone = true},
    {.what = "the sums over the row are not divided by the number of channels",
     .divisor = LayerNormRule::Divisor::kOne},
    {.what = "the sums over the row are divided by the number of rows, not of channels",
     .divisor = LayerNormRule::Divisor::kRows},
    {.what = "the sums over the row are divided by C - 1: they are means over C channels",
     .divisor = LayerNormRule::Divisor::kOneLess},
    {.what = "the two sums go on from row to row", .keeps_sums = true},
    {.what = "the gain is missing in g", .no_gain = true},
    {.what = "the means are those of out_gradient, not of g", .means_of_out_gradient = true},
    {.what = "the gain is multiplied in twice", .gain_twice = true},
    {.what = "the reciprocal deviation is missing in front of the bracket", .deviation_power = 0},
    {.what = "the bracket is divided by the reciprocal deviation: multiply", .deviation_power = -1},
    {.what = "the reciprocal deviation is multiplied in three times", .deviation_power = 3},
    {.what = "the reciprocal deviation is multiplied in twice", .deviation_power = 2},
    {.what = "only the first term is multiplied by the reciprocal deviation, not the whole bracket",
     .first_term_only_scaled = true},
};

/// What the forward pass was given and has kept, and the gradients before the call.
struct LayerNormCase {
  std::size_t rows, channels;
  std::span<const float> input, gain, out_gradient, mean, reciprocal, gain_gradient, bias_gradient;
};

/// All three gradients.
struct LayerNormGradients {
  std::vector<double> input, gain, bias;
};

/// The result of this rule.
[[nodiscard]] LayerNormGradients gradients_by(const LayerNormRule& rule, const LayerNormCase& in);

}  // namespace lockstep::exercise
