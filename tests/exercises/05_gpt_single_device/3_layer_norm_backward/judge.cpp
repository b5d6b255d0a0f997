#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "exercise/examination.hpp"
#include "wrong_rules.hpp"

namespace lockstep::exercise {

LayerNormGradients gradients_by(const LayerNormRule& rule, const LayerNormCase& in) {
  using enum LayerNormRule::Normalized;
  using enum LayerNormRule::Divisor;
  const auto rows = static_cast<double>(in.rows), channels = static_cast<double>(in.channels);
  LayerNormGradients result{std::vector<double>(in.input.size()),
                            {in.gain_gradient.begin(), in.gain_gradient.end()},
                            {in.bias_gradient.begin(), in.bias_gradient.end()}};
  const double divisor = rule.divisor == kOne       ? 1
                         : rule.divisor == kRows    ? rows
                         : rule.divisor == kOneLess ? channels - 1
                                                    : channels;
  double share = rule.parameter_factor;  // of a parameter's gradient
  if (rule.parameter_per_rows != 0) share /= rows;
  if (rule.parameter_per_channels != 0) share /= channels;
  double sum_g = 0, sum_gn = 0;
  for (std::size_t r = 0; r < in.rows; ++r) {
    const double mean = in.mean[r], reciprocal = in.reciprocal[r];
    const auto at = [&](std::size_t c) { return rule.transposed ? c * in.rows + r : r * in.channels + c; };
    const auto normalized = [&](std::size_t c) -> double {
      const double x = in.input[at(c)];
      if (rule.normalized == kInput) return x;
      if (rule.normalized == kNoMean) return x * reciprocal;
      if (rule.normalized == kNoDeviation) return x - mean;
      return rule.normalized == kDivided ? (x - mean) / reciprocal : (x - mean) * reciprocal;
    };
    const auto g = [&](std::size_t c) -> double { return in.out_gradient[at(c)] * (rule.no_gain ? 1.0F : in.gain[c]); };
    if (!rule.keeps_sums) sum_g = sum_gn = 0;
    for (std::size_t c = 0; c < in.channels; ++c) {
      const double dy = in.out_gradient[at(c)];
      double of_gain = (rule.gain_from_g ? g(c) : dy) * (rule.no_normalized ? 1 : normalized(c));
      double of_bias = rule.bias_from_g ? g(c) : dy;
      if (rule.swapped) std::swap(of_gain, of_bias);
      if (rule.only_last_row) result.gain[c] = result.bias[c] = 0;
      result.gain[c] += share * of_gain;
      result.bias[c] += share * of_bias;
      sum_g += rule.means_of_out_gradient ? dy : g(c);
      sum_gn += (rule.means_of_out_gradient ? dy : g(c)) * normalized(c);
    }
    const double mean_g = rule.mean_g * sum_g / divisor, mean_gn = rule.mean_gn * sum_gn / divisor;
    for (std::size_t c = 0; c < in.channels; ++c) {
      const double first =
          g(c) * (rule.gain_twice ? in.gain[c] : 1.0F) * (rule.first_term_only_scaled ? reciprocal : 1);
      const double others = mean_g + (rule.mean_gn_alone ? 1 : normalized(c)) * mean_gn;
      const double scale = rule.first_term_only_scaled ? 1 : std::pow(reciprocal, rule.deviation_power);
      result.input[at(c)] = (first - others * (rule.gain_twice ? in.gain[c] : 1.0F)) * scale;
    }
  }
  return result;
}

namespace checks_05_3 {

constexpr double kEpsilon = 1e-5;
constexpr float kFill = 1000;  // in the input's gradient before the call

struct Case {
  std::size_t rows, channels;
  std::vector<float> input, gain, out_gradient;     // [R, C], [C], [R, C]
  std::vector<float> gain_gradient, bias_gradient;  // [C]: what is there before
};

// Kept by the forward pass for one row.
struct Statistics {
  double mean, reciprocal;
};

Statistics statistics_of(std::span<const double> row) {
  const auto count = static_cast<double>(row.size());
  const double mean = std::accumulate(row.begin(), row.end(), 0.0) / count;
  double squares = 0;
  for (const double x : row) squares += (x - mean) * (x - mean);
  return {mean, 1 / std::sqrt(squares / count + kEpsilon)};
}

std::vector<double> row_of(const Case& input, std::size_t row) {
  const auto begin = input.input.begin() + static_cast<std::ptrdiff_t>(row * input.channels);
  return {begin, begin + static_cast<std::ptrdiff_t>(input.channels)};
}

// One row's part in the loss: the sum of outputs, weighted with their gradients. (The biases do not matter.)
double loss_of(const Case& input, std::size_t row, std::span<const double> x) {
  const auto [mean, reciprocal] = statistics_of(x);
  double loss = 0;
  for (std::size_t c = 0; c < x.size(); ++c)
    loss += input.out_gradient[row * x.size() + c] * input.gain[c] * (x[c] - mean) * reciprocal;
  return loss;
}

// By changing each input a little. The error is some 1e-8: 1e-15 from rounding over the step, and the step's square.
std::vector<double> expected_input_gradient(const Case& input) {
  constexpr double kStep = 1e-6;
  std::vector<double> gradient;
  for (std::size_t row = 0; row < input.rows; ++row) {
    std::vector<double> x = row_of(input, row);
    for (double& changed : x) {
      const double before = changed;
      changed = before + kStep;
      const double above = loss_of(input, row, x);
      changed = before - kStep;
      gradient.push_back((above - loss_of(input, row, x)) / (2 * kStep));
      changed = before;
    }
  }
  return gradient;
}

// A row whose gradients do not add up to 0, or not when weighted with the normalized row, lacks a term.
std::string explain_input_gradient(const Case& input, std::span<const float> got, std::size_t index) {
  if (std::isnan(got[index])) return "not a number";
  const std::size_t row = index / input.channels;
  const std::string place = concat("row ", row, ", channel ", index % input.channels);
  const std::vector<double> x = row_of(input, row);
  const Statistics statistics = statistics_of(x);
  double sum = 0, weighted = 0, size = 0;
  for (std::size_t c = 0; c < x.size(); ++c) {
    const double value = got[row * x.size() + c];
    sum += value;
    weighted += value * (x[c] - statistics.mean) * statistics.reciprocal;
    size += std::abs(value);
  }
  if (std::abs(sum) > 1e-3 * size)
    return concat(place, "; the gradients of this row add up to ", shown(sum),
                  ", but adding a number to the whole row must not change the loss");
  if (std::abs(weighted) > 1e-3 * size)
    return concat(place, "; stretching the row would change the loss, and it must not: look at the last term");
  return place;
}

void check_case(Check& check, const Case& input) {
  std::vector<float> means, reciprocals;
  std::vector<double> gain_gradient(input.gain_gradient.begin(), input.gain_gradient.end());
  std::vector<double> bias_gradient(input.bias_gradient.begin(), input.bias_gradient.end());
  for (std::size_t row = 0; row < input.rows; ++row) {
    const std::vector<double> x = row_of(input, row);
    const auto [mean, reciprocal] = statistics_of(x);
    means.push_back(static_cast<float>(mean));
    reciprocals.push_back(static_cast<float>(reciprocal));
    for (std::size_t c = 0; c < input.channels; ++c) {
      const double dy = input.out_gradient[row * input.channels + c];
      gain_gradient[c] += dy * (x[c] - mean) * reciprocal;
      bias_gradient[c] += dy;
    }
  }
  const Outcome& outcome = check.run({.question = [&](int) {
    const auto array = [](const std::vector<float>& values) { return to_message(std::span<const float>(values)); };
    return nlohmann::json{{"input", array(input.input)},
                          {"mean", array(means)},
                          {"reciprocal_deviation", array(reciprocals)},
                          {"gain", array(input.gain)},
                          {"out_gradient", array(input.out_gradient)},
                          {"gain_gradient", array(input.gain_gradient)},
                          {"bias_gradient", array(input.bias_gradient)},
                          {"fill", kFill}};
  }});
  const LayerNormCase in{input.rows, input.channels, input.input,         input.gain,         input.out_gradient,
                         means,      reciprocals,    input.gain_gradient, input.bias_gradient};
  const auto formulas = [&](std::vector<double> LayerNormGradients::*array) {
    std::vector<WrongFormula> all;
    for (const LayerNormRule& rule : kLayerNormRules)
      all.push_back({rule.what, [&in, &rule, array] { return gradients_by(rule, in).*array; }});
    return all;
  };
  const std::vector<float> fill(input.input.size(), kFill);
  const auto got = check.numbers<float>(outcome, 0, "input_gradient");
  const auto in_channel = [](std::size_t index, double, double) { return concat("channel ", index); };
  // Sums over the rows of float terms that may cancel, each of about 1: half an ulp of 6e-8 each.
  const double parameter_error = 1e-6 * std::sqrt(static_cast<double>(input.rows + 1)) + 1e-5;
  check.compare("the bias gradient", check.numbers<float>(outcome, 0, "bias_gradient"), bias_gradient,
                {.relative = 1e-5,
                 .absolute = parameter_error,
                 .explain = in_channel,
                 .knowledge = ArrayKnowledge{.before = input.bias_gradient,
                                             .buffer = Buffer::kAddedTo,
                                             .formulas = formulas(&LayerNormGradients::bias)}});
  check.compare("the gain gradient", check.numbers<float>(outcome, 0, "gain_gradient"), gain_gradient,
                {.relative = 1e-5,
                 .absolute = parameter_error,
                 .explain = in_channel,
                 .knowledge = ArrayKnowledge{.before = input.gain_gradient,
                                             .buffer = Buffer::kAddedTo,
                                             .formulas = formulas(&LayerNormGradients::gain)}});
  // The terms are some units times the reciprocal deviation, and float arithmetic rounds each by 6e-8 of that.
  double largest = 0;
  for (const float reciprocal : reciprocals) largest = std::max(largest, static_cast<double>(reciprocal));
  check.compare(
      "the input gradient", got, expected_input_gradient(input),
      {.relative = 1e-4,
       .absolute = 5e-6 * (largest + 1),
       .explain = [&](std::size_t index, double, double) { return explain_input_gradient(input, got, index); },
       .knowledge = ArrayKnowledge{.before = fill, .formulas = formulas(&LayerNormGradients::input)}});
}

// Gains around 1, as in training, and no two numbers alike.
Case random_case(std::uint64_t seed, std::size_t rows, std::size_t channels) {
  Case made{rows,
            channels,
            random_floats(seed, 0, rows * channels),
            random_floats(seed, 1, channels),
            random_floats(seed, 2, rows * channels),
            std::vector<float>(channels),
            std::vector<float>(channels)};
  for (float& gain : made.gain) gain = 1.25F + gain / 2;
  for (float& x : made.input) x = 0.5F + 2 * x;
  return made;
}

}  // namespace checks_05_3

void judge_05_3(Examination& exam) {
  using namespace checks_05_3;
  exam.check("one row, all gains 1", [](Check& check) {
    check_case(check, {1, 4, {7, 2, 3, 4}, {1, 1, 1, 1}, {1, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}});
  });
  exam.check("one row, different gains", [](Check& check) {
    check_case(check, {1, 4, {1, 2, 3, 6}, {0.5, 1, 2, 4}, {1, -1, 0.5, 2}, {0, 0, 0, 0}, {0, 0, 0, 0}});
  });
  exam.check("two rows", [](Check& check) {
    check_case(check, {2, 3, {1, 2, 4, -3, 0, 1}, {0.5, 1, 2}, {1, 2, 4, 8, 16, 32}, {0, 0, 0}, {0, 0, 0}});
  });
  exam.check("parameter gradients are added to what is there", [](Check& check) {
    check_case(check, {2, 3, {1, 2, 4, -3, 0, 1}, {0.5, 1, 2}, {1, 2, 4, 8, 16, 32}, {100, 200, 300}, {400, 500, 600}});
  });
  exam.check("no rows", [](Check& check) { check_case(check, {0, 3, {}, {1, 1, 1}, {}, {1, 2, 3}, {4, 5, 6}}); });
  exam.check("a row of equal numbers: only epsilon keeps the deviation above 0", [](Check& check) {
    check_case(check, {1, 4, {2, 2, 2, 2}, {0.5, 1, 2, 4}, {1, -1, 0.5, 2}, {0, 0, 0, 0}, {0, 0, 0, 0}});
  });
  exam.check("7 rows of 48 channels", [](Check& check) { check_case(check, random_case(check.seed(), 7, 48)); });
  exam.full_check("rows of 1, 2, 31 and 33 channels", [](Check& check) {
    for (const std::size_t channels : {1, 2, 31, 33}) check_case(check, random_case(check.seed(), 5, channels));
  });
  exam.full_check("300 rows of 128 channels",
                  [](Check& check) { check_case(check, random_case(check.seed(), 300, 128)); });
}

}  // namespace lockstep::exercise
