#include <cmath>

#include "base/error.hpp"
#include "exercise/examination.hpp"
#include "wrong_results.hpp"

namespace lockstep::exercise {
namespace checks_05_4 {

using Case = AttentionCase;
using Result = AttentionResult;

constexpr float kFill = 1000;  // in all results before the call

nlohmann::json question_of(const Case& in, bool is_backward) {
  return {{"samples", in.samples},
          {"length", in.length},
          {"channels", in.channels},
          {"heads", in.heads},
          {"is_backward", is_backward},
          {"fill", kFill},
          {"qkv", to_message(std::span<const float>(in.qkv))}};
}

// By the definition, with long double exponentials, which hold those of scores up to 11,000.
void attend(const Case& in, std::span<const double> qkv, std::size_t b, std::size_t h, std::size_t i, Result& result) {
  const std::size_t size = in.head_size(), first = h * size;
  std::vector<long double> weights(i + 1);
  long double sum = 0;
  for (std::size_t j = 0; j <= i; ++j) {
    double product = 0;
    for (std::size_t c = first; c < first + size; ++c) product += qkv[in.index(0, b, i, c)] * qkv[in.index(1, b, j, c)];
    sum += weights[j] = std::exp(static_cast<long double>(product / std::sqrt(static_cast<double>(size))));
  }
  result.log_sum_exp[(b * in.heads + h) * in.length + i] = static_cast<double>(std::log(sum));
  for (std::size_t c = first; c < first + size; ++c) {
    long double mean = 0;
    for (std::size_t j = 0; j <= i; ++j) mean += weights[j] / sum * qkv[in.index(2, b, j, c)];
    result.out[(b * in.length + i) * in.channels + c] = static_cast<double>(mean);
  }
}

Result forward(const Case& in, std::span<const double> qkv) {
  Result result{std::vector<double>(in.samples * in.length * in.channels),
                std::vector<double>(in.samples * in.heads * in.length)};
  for (std::size_t b = 0; b < in.samples; ++b)
    for (std::size_t h = 0; h < in.heads; ++h)
      for (std::size_t i = 0; i < in.length; ++i) attend(in, qkv, b, h, i, result);
  return result;
}

Result forward(const Case& in) { return forward(in, std::vector<double>(in.qkv.begin(), in.qkv.end())); }

// The outputs' gradients as weights: what the loss is in the sample and the head of one input.
double loss_of(const Case& in, std::span<const double> qkv, std::span<const float> out_gradient, std::size_t b,
               std::size_t h) {
  Result result{std::vector<double>(in.samples * in.length * in.channels),
                std::vector<double>(in.samples * in.heads * in.length)};
  double loss = 0;
  for (std::size_t i = 0; i < in.length; ++i) {
    attend(in, qkv, b, h, i, result);
    for (std::size_t c = h * in.head_size(); c < (h + 1) * in.head_size(); ++c) {
      const std::size_t index = (b * in.length + i) * in.channels + c;
      loss += out_gradient[index] * result.out[index];
    }
  }
  return loss;
}

// By changing each input a little. The error is some 1e-9: 1e-15 from rounding over the step, and the step's square.
// With a query of 1600 a key's step changes the score by 0.016; then the error is 1e-5 of the gradient.
std::vector<double> expected_gradient(const Case& in, std::span<const float> out_gradient) {
  constexpr double kStep = 1e-5;
  std::vector<double> qkv(in.qkv.begin(), in.qkv.end()), gradient(qkv.size());
  for (std::size_t i = 0; i < qkv.size(); ++i) {
    const std::size_t b = i / (3 * in.channels * in.length), h = i % in.channels / in.head_size();
    const double before = qkv[i];
    qkv[i] = before + kStep;
    const double above = loss_of(in, qkv, out_gradient, b, h);
    qkv[i] = before - kStep;
    gradient[i] = (above - loss_of(in, qkv, out_gradient, b, h)) / (2 * kStep);
    qkv[i] = before;
  }
  return gradient;
}

std::string special(double value) {
  if (std::isnan(value)) return "not a number: ";
  return std::isinf(value) ? "infinite: " : "";
}

std::string place_of(const Case& in, std::size_t sample, std::size_t position, std::size_t channel) {
  return concat("sample ", sample, ", position ", position, ", head ", channel / in.head_size(), ", number ",
                channel % in.head_size(), " of its row");
}

// Facts about one array of the forward pass.
ArrayKnowledge forward_knowledge(const Case& in, std::span<const float> before,
                                 std::vector<double> AttentionResult::*array) {
  ArrayKnowledge knowledge{.before = before};
  for (const WrongForward& rule : kWrongForwards)
    knowledge.formulas.push_back({rule.what, [&in, &rule, array] { return forward_by(rule, in).*array; }});
  return knowledge;
}

void check_forward(Check& check, const Case& in) {
  const Outcome& outcome = check.run({.question = [&](int) { return question_of(in, false); }});
  const Result expected = forward(in);
  // Probabilities are at most 1, but a score of 1000 is rounded by 3e-5, and so is the exponent.
  double largest = 1;
  for (const double value : expected.log_sum_exp) largest = std::max(largest, std::abs(value));
  const double error = 2e-6 * largest;
  const std::vector<float> fill(expected.out.size(), kFill);
  check.compare("the output", check.numbers<float>(outcome, 0, "out"), expected.out,
                {.relative = error,
                 .absolute = error,
                 .explain =
                     [&](std::size_t i, double got, double) {
                       return special(got) +
                              place_of(in, i / (in.length * in.channels), i / in.channels % in.length, i % in.channels);
                     },
                 .knowledge = forward_knowledge(in, fill, &AttentionResult::out)});
  check.compare("log_sum_exp", check.numbers<float>(outcome, 0, "log_sum_exp"), expected.log_sum_exp,
                {.relative = 1e-5,
                 .absolute = error,
                 .explain =
                     [&](std::size_t i, double got, double) {
                       return concat(special(got), "sample ", i / (in.heads * in.length), ", head ",
                                     i / in.length % in.heads, ", position ", i % in.length);
                     },
                 .knowledge = forward_knowledge(in, std::span(fill).first(expected.log_sum_exp.size()),
                                                &AttentionResult::log_sum_exp)});
}

void check_backward(Check& check, const Case& in, const std::vector<float>& out_gradient) {
  const Result result = forward(in);
  const std::vector<float> out(result.out.begin(), result.out.end());
  const std::vector<float> log_sum_exp(result.log_sum_exp.begin(), result.log_sum_exp.end());
  const Outcome& outcome = check.run({.question = [&](int) {
    nlohmann::json question = question_of(in, true);
    question["out_gradient"] = to_message(std::span<const float>(out_gradient));
    question["out"] = to_message(std::span<const float>(out));
    question["log_sum_exp"] = to_message(std::span<const float>(log_sum_exp));
    return question;
  }});
  // Sums of up to T terms, each of about 1 and rounded by 6e-8, some of which cancel.
  const std::vector<float> fill(in.qkv.size(), kFill);
  ArrayKnowledge knowledge{.before = fill};
  for (const WrongBackward& rule : kWrongBackwards)
    knowledge.formulas.push_back({rule.what, [&] { return backward_by(rule, in, out_gradient, result); }});
  check.compare("the gradient", check.numbers<float>(outcome, 0, "qkv_gradient"), expected_gradient(in, out_gradient),
                {.relative = 1e-4,
                 .absolute = 2e-5,
                 .explain =
                     [&](std::size_t i, double got, double) {
                       constexpr const char* kParts[] = {"query", "key", "value"};
                       const std::size_t position = i / (3 * in.channels);
                       return concat(special(got), kParts[i % (3 * in.channels) / in.channels], " of ",
                                     place_of(in, position / in.length, position % in.length, i % in.channels));
                     },
                 .knowledge = knowledge});
}

// One sample and one head with the same query everywhere, and with values 1, 8, 64, ... that say who was looked at.
Case decodable(std::size_t length, float query) {
  Case made{1, length, 1, 1, {}};
  for (std::size_t t = 0; t < length; ++t)
    made.qkv.insert(made.qkv.end(),
                    {query, static_cast<float>(t + 1) / 2, static_cast<float>(std::int64_t{1} << (3 * t))});
  return made;
}

// "0, 1" if the value is what `count` equal shares of the values of positions 0 and 1 add up to; else empty.
std::string decoded(double value, std::size_t count) {
  double rest = value * static_cast<double>(count);
  std::string positions;
  for (std::size_t j = 4; j-- > 0;) {
    const double share = std::pow(8, j);
    if (rest < share - 1e-3) continue;
    rest -= share;
    positions = concat(j, positions.empty() ? "" : ", ", positions);
  }
  return std::abs(rest) < 1e-3 ? positions : "";
}

// Equal scores, which are not 0: the outputs say who was looked at.
void check_mask(Check& check) {
  Case in = decodable(4, 0.5F);
  for (std::size_t t = 0; t < in.length; ++t) in.qkv[in.index(1, 0, t, 0)] = 1;
  const std::vector<float> fill(in.length, kFill);
  const Outcome& outcome = check.run({.question = [&](int) { return question_of(in, false); }});
  check.compare("the output", check.numbers<float>(outcome, 0, "out"), forward(in).out,
                {.relative = 1e-5,
                 .explain =
                     [](std::size_t i, double got, double) {
                       const std::string others = i == 0 ? "itself only" : concat("0 to ", i, " in equal shares");
                       const std::string text = concat(special(got), "position ", i, " should look at ", others);
                       for (std::size_t count = 1; count <= 4; ++count)
                         if (const std::string seen = decoded(got, count); !seen.empty())
                           return concat(text, "; the output is that of looking at ", seen, ", with shares of 1/",
                                         count);
                       return text;
                     },
                 .knowledge = forward_knowledge(in, fill, &AttentionResult::out)});
}

// Scores that are all far below 0, such as -200 and -300: their exponentials are 0, whatever is subtracted but the
// largest of them.
Case with_low_scores() {
  return {1, 3, 2, 1, {10, 10, -14, -14, 1, 2, 10, 10, -21, -21, 3, 4, 10, 10, -14, -15, 5, 6}};
}

// The scores of a position, 14 and 28 and 297, rise so steeply that the exponentials of the first ones are 0 relative
// to a score that the position does not see.
Case with_rising_scores() { return {1, 3, 2, 1, {10, 10, 1, 1, 1, 2, 10, 10, 2, 2, 3, 4, 10, 10, 21, 21, 5, 6}}; }

// Position 0 has the score 297, and position 1 has 0 and 0.7.
Case with_small_scores_after_large() { return {1, 2, 2, 1, {10, 10, 21, 21, 1, 2, 0.5, -0.5, 1, -1, 3, 4}}; }

Case random_case(std::uint64_t seed, std::size_t samples, std::size_t length, std::size_t channels, std::size_t heads,
                 float scale = 1.5F) {
  Case made{samples, length, channels, heads, random_floats(seed, 0, samples * length * 3 * channels)};
  for (float& value : made.qkv) value *= scale;
  return made;
}

void check_random_backward(Check& check, std::size_t samples, std::size_t length, std::size_t channels,
                           std::size_t heads) {
  check_backward(check, random_case(check.seed(), samples, length, channels, heads),
                 random_floats(check.seed(), 1, samples * length * channels));
}

}  // namespace checks_05_4

void judge_05_4(Examination& exam) {
  using namespace checks_05_4;
  exam.check("forward: equal scores show who looks at whom", check_mask);
  exam.check("forward: two positions, one number each", [](Check& check) { check_forward(check, decodable(2, 1)); });
  exam.check("forward: rows of 4 numbers",
             [](Check& check) { check_forward(check, random_case(check.seed(), 1, 5, 4, 1)); });
  exam.check("forward: one position sees itself", [](Check& check) {
    check_forward(check, {1, 1, 3, 1, {1, 2, 1, 0.5, -1, 1, 3, 5, 7}});
  });
  exam.check("forward: two samples with three heads",
             [](Check& check) { check_forward(check, random_case(check.seed(), 2, 6, 12, 3)); });
  exam.check("forward: each row's own largest score counts", [](Check& check) {
    check_forward(check, with_rising_scores());
    check_forward(check, with_small_scores_after_large());
  });
  exam.check("forward: scores in the hundreds",
             [](Check& check) { check_forward(check, random_case(check.seed(), 1, 5, 4, 1, 20)); });
  exam.check("forward: all scores far below 0", [](Check& check) { check_forward(check, with_low_scores()); });
  exam.check("backward: one position", [](Check& check) {
    check_backward(check, {1, 1, 2, 1, {1, 2, 0.5, -1, 3, 5}}, {1, -2});
  });
  exam.check("backward: two positions, one number each", [](Check& check) {
    check_backward(check, decodable(2, 1), {1, 0.5});
  });
  // Floats hold these scores exactly: the rounding of others would show in the probabilities.
  exam.check("backward: scores of 800", [](Check& check) {
    check_backward(check, {1, 2, 1, 1, {1600, 0.5, 1, 1600, 0.5 + 1.0F / 2048, 3}}, {1, 0.125});
  });
  exam.check("backward: rows of 4 numbers", [](Check& check) { check_random_backward(check, 1, 5, 4, 1); });
  exam.check("backward: two samples with three heads", [](Check& check) { check_random_backward(check, 2, 4, 6, 3); });
  exam.full_check("40 positions, two heads", [](Check& check) {
    check_forward(check, random_case(check.seed(), 1, 40, 16, 2));
    check_random_backward(check, 1, 24, 8, 2);
  });
}

}  // namespace lockstep::exercise
