#pragma once
/// @file
/// What people write in place of the rules of exercise 05.2, and the gradients that come of it: the judge compares them
/// with what a learner's program has answered.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "program.hpp"

namespace lockstep::exercise {

using enum ScalarOperation;

/// One operation, and the numbers that it computes with.
struct TapeStep {
  ScalarOperation operation;
  std::int32_t a, b;
};

/// A computation, and the numbers that backward() is called with, one after another.
struct TapeProgram {
  std::vector<double> parameters;
  std::vector<TapeStep> steps;
  std::vector<std::int32_t> losses;

  /// "p0" for a parameter, "r0" for a result.
  [[nodiscard]] std::string name_of(std::int32_t number) const {
    const auto count = static_cast<std::int32_t>(parameters.size());
    return number < count ? concat("p", number) : concat("r", number - count);
  }
};

inline constexpr const char* kTapeOperations[] = {"add", "multiply", "tanh", "relu"};

/// The gradient that an operation passes to one of its inputs. `x` is that input, `other` the second one, `g` the
/// gradient of the result.
using Contribution = double (*)(ScalarOperation operation, double x, double other, double g);

/// The right one.
inline double contribution(ScalarOperation operation, double x, double other, double g) {
  if (operation == kMultiply) return g * other;
  if (operation == kTanh) return g * (1 - std::tanh(x) * std::tanh(x));
  return operation == kAdd || x > 0 ? g : 0;
}

/// A tape whose author has made one mistake.
struct TapeRule {
  /// Where a walk begins, and with which gradient.
  enum class Seed { kOne, kNothing, kValue, kOneAtTheEnd };

  const char* what;  ///< Continues "that is what comes out if ".
  Contribution contribute = contribution;
  Seed seed = Seed::kOne;
  bool overwrites = false, keeps_first = false;       // in place of adding
  bool keeps_old = false, clears_parameters = false;  // between two losses
  bool skips_second = false;                          // input of a product
  bool visits_loss_only = false, walks_forwards = false, skips_loss = false, walks_twice = false;
  bool passes_value = false;  // of a node, in place of its gradient
  /// Which computed numbers are cleared before a walk.
  enum class Cleared { kAll, kToLoss, kBeforeLoss } cleared = Cleared::kAll;
  bool walks_from_end = false;  // of the tape
};

inline constexpr TapeRule kTapeRules[] = {
    {"a factor of a product gets the gradient times itself, not times the other factor",
     [](ScalarOperation o, double x, double y, double g) { return o == kMultiply ? g * x : contribution(o, x, y, g); }},
    {"a factor of a product gets the other factor alone, not multiplied by the gradient that arrives",
     [](ScalarOperation o, double x, double y, double g) { return o == kMultiply ? y : contribution(o, x, y, g); }},
    {"a factor of a product gets the gradient alone, not multiplied by the other factor",
     [](ScalarOperation o, double x, double y, double g) { return o == kMultiply ? g : contribution(o, x, y, g); }},
    {.what = "only the first factor of a product gets a contribution", .skips_second = true},
    {"the derivative of tanh is 1 - x * x: it takes the result, not the input",
     [](ScalarOperation o, double x, double y, double g) {
       return o == kTanh ? g * (1 - x * x) : contribution(o, x, y, g);
     }},
    {"the derivative of tanh is 1 - tanh(x), without the square",
     [](ScalarOperation o, double x, double y, double g) {
       return o == kTanh ? g * (1 - std::tanh(x)) : contribution(o, x, y, g);
     }},
    {"the derivative of tanh is that of the sigmoid function, r * (1 - r)",
     [](ScalarOperation o, double x, double y, double g) {
       return o == kTanh ? g * std::tanh(x) * (1 - std::tanh(x)) : contribution(o, x, y, g);
     }},
    {"the derivative of tanh is not multiplied by the gradient that arrives",
     [](ScalarOperation o, double x, double y, double g) {
       return o == kTanh ? contribution(o, x, y, 1) : contribution(o, x, y, g);
     }},
    {"tanh contributes 1 - g * tanh(x)^2: the whole derivative is to be multiplied by g",
     [](ScalarOperation o, double x, double y, double g) {
       return o == kTanh ? 1 - g * std::tanh(x) * std::tanh(x) : contribution(o, x, y, g);
     }},
    {"relu passes the gradient on for x = 0 too, where the derivative is 0",
     [](ScalarOperation o, double x, double y, double g) {
       return o == kRelu ? (x >= 0 ? g : 0) : contribution(o, x, y, g);
     }},
    {"relu passes the gradient on whatever x is",
     [](ScalarOperation o, double x, double y, double g) { return o == kRelu ? g : contribution(o, x, y, g); }},
    {"relu looks at the sign of the gradient that arrives, not of x",
     [](ScalarOperation o, double x, double y, double g) {
       return o == kRelu ? (g > 0 ? g : 0) : contribution(o, x, y, g);
     }},
    {"relu contributes 1 if x is positive, not the gradient that arrives",
     [](ScalarOperation o, double x, double y, double g) {
       return o == kRelu ? (x > 0 ? 1 : 0) : contribution(o, x, y, g);
     }},
    {"relu multiplies the gradient by x, not by the derivative 1",
     [](ScalarOperation o, double x, double y, double g) {
       return o == kRelu && x > 0 ? g * x : contribution(o, x, y, g);
     }},
    {"relu passes a hundredth of the gradient on for x <= 0, as a leaky one does",
     [](ScalarOperation o, double x, double y, double g) {
       return o == kRelu && x <= 0 ? 0.01 * g : contribution(o, x, y, g);
     }},
    {"every operation gets the gradient 1, not that of its own result",
     [](ScalarOperation o, double x, double y, double) { return contribution(o, x, y, 1); }},
    {.what = "a contribution replaces the gradient instead of being added to it", .overwrites = true},
    {.what = "only the first contribution counts", .keeps_first = true},
    {.what = "each node's function is called with its value, not with its gradient", .passes_value = true},
    {.what = "the loss gets no gradient: its own is 1", .seed = TapeRule::Seed::kNothing},
    {.what = "the gradient of the loss is its value: it is 1", .seed = TapeRule::Seed::kValue},
    {.what = "the gradient 1 is given to the last number of the tape, not to the loss",
     .seed = TapeRule::Seed::kOneAtTheEnd},
    {.what = "a second backward() begins with gradients of computed numbers from the first", .keeps_old = true},
    {.what = "the loss begins with what an earlier backward() has left in it: it is to be cleared as well, or set to 1",
     .cleared = TapeRule::Cleared::kBeforeLoss},
    {.what = "the walk begins at the end of the tape, but gradients are cleared only up to the loss",
     .cleared = TapeRule::Cleared::kToLoss,
     .walks_from_end = true},
    {.what = "backward() clears the gradients of parameters too", .clears_parameters = true},
    {.what = "only the loss's own operation is visited, and none of those before it", .visits_loss_only = true},
    {.what = "the tape is walked from its start to the loss", .walks_forwards = true},
    {.what = "the walk begins before the loss, so that its own operation is left out", .skips_loss = true},
    {.what = "the tape is walked twice for one loss", .walks_twice = true},
};

/// Whether a computed number is cleared before the walk from `loss`.
inline bool clears(const TapeRule& rule, std::size_t number, std::int32_t loss) {
  if (rule.cleared == TapeRule::Cleared::kAll) return true;
  return std::cmp_less(number, loss) || (rule.cleared == TapeRule::Cleared::kToLoss && std::cmp_equal(number, loss));
}

/// The gradients of the parameters on a tape that follows this rule.
inline std::vector<double> gradients_by(const TapeRule& rule, const TapeProgram& program) {
  const std::size_t parameters = program.parameters.size();
  std::vector<double> values = program.parameters, gradients(parameters + program.steps.size());
  for (const auto& [operation, a, b] : program.steps) {
    const double x = values[a], y = values[b];
    values.push_back(operation == kAdd        ? x + y
                     : operation == kMultiply ? x * y
                     : operation == kTanh     ? std::tanh(x)
                                              : std::max(x, 0.0));
  }
  const auto give = [&](std::int32_t to, double value) {
    double& gradient = gradients[to];
    if (rule.overwrites)
      gradient = value;
    else if (!rule.keeps_first || gradient == 0)
      gradient = rule.keeps_first ? value : gradient + value;
  };
  const auto visit = [&](std::size_t number) {
    if (number < parameters) return;
    const auto& [operation, a, b] = program.steps[number - parameters];
    const double g = rule.passes_value ? values[number] : gradients[number];
    give(a, rule.contribute(operation, values[a], values[b], g));
    const bool has_two = operation == kAdd || operation == kMultiply;
    if (has_two && !(rule.skips_second && operation == kMultiply))
      give(b, rule.contribute(operation, values[b], values[a], g));
  };
  for (const std::int32_t loss : program.losses) {
    for (std::size_t i = 0; i < gradients.size(); ++i)
      if (i < parameters ? rule.clears_parameters : !rule.keeps_old && clears(rule, i, loss)) gradients[i] = 0;
    const bool is_at_end = rule.seed == TapeRule::Seed::kOneAtTheEnd;
    const std::size_t start = is_at_end ? gradients.size() - 1 : static_cast<std::size_t>(loss);
    if (rule.seed != TapeRule::Seed::kNothing)
      give(static_cast<std::int32_t>(start), rule.seed == TapeRule::Seed::kValue ? values[start] : 1);
    const std::size_t first = rule.walks_from_end ? gradients.size() - 1 : start;
    for (int walk = 0; walk < (rule.walks_twice ? 2 : 1); ++walk)
      for (std::size_t k = rule.skips_loss ? 1 : 0; k <= first; ++k) {
        visit(rule.walks_forwards ? k : first - k);
        if (rule.visits_loss_only) break;
      }
  }
  gradients.resize(parameters);
  return gradients;
}

}  // namespace lockstep::exercise
