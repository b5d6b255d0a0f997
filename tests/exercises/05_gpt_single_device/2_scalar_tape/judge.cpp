#include <cmath>

#include "base/error.hpp"
#include "exercise/examination.hpp"
#include "program.hpp"

namespace lockstep::exercise {
namespace {

using enum ScalarOperation;

struct Step {
  ScalarOperation operation;
  std::int32_t a, b;
};

struct Program {
  std::vector<double> parameters;
  std::vector<Step> steps;
  std::vector<std::int32_t> losses;

  [[nodiscard]] std::string name_of(std::int32_t number) const {
    const auto count = static_cast<std::int32_t>(parameters.size());
    return number < count ? concat("p", number) : concat("r", number - count);
  }
};

constexpr const char* kNames[] = {"add", "multiply", "tanh", "relu"};

// A number of the program in the forward mode of differentiation: with its derivative by one parameter, and an upper
// bound of what was added up for it, which bounds the rounding.
struct Dual {
  double value = 0, derivative = 0, bound = 0;
};

Dual apply(ScalarOperation operation, const Dual& a, const Dual& b) {
  double by_a = 1, by_b = 0, value = 0;
  switch (operation) {
    case kAdd:
      value = a.value + b.value, by_b = 1;
      break;
    case kMultiply:
      value = a.value * b.value, by_a = b.value, by_b = a.value;
      break;
    case kTanh:
      value = std::tanh(a.value), by_a = 1 / (std::cosh(a.value) * std::cosh(a.value));
      break;
    case kRelu:
      value = std::max(a.value, 0.0), by_a = a.value > 0 ? 1 : 0;
      break;
  }
  return {value, by_a * a.derivative + by_b * b.derivative, std::abs(by_a) * a.bound + std::abs(by_b) * b.bound};
}

std::vector<Dual> derivatives_by(const Program& program, std::size_t parameter) {
  std::vector<Dual> numbers;
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    const double own = i == parameter ? 1 : 0;
    numbers.push_back({program.parameters[i], own, own});
  }
  for (const Step& step : program.steps) numbers.push_back(apply(step.operation, numbers[step.a], numbers[step.b]));
  return numbers;
}

// "r0 = multiply(p0, p0); loss r0", where it is short.
std::string text_of(const Program& program) {
  constexpr std::size_t kMost = 6;
  if (program.steps.size() > kMost) return concat(program.steps.size(), " operations");
  std::string text;
  for (std::size_t i = 0; i < program.parameters.size(); ++i)
    text += concat("p", i, " = ", shown(program.parameters[i]), ", ");
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const auto& [operation, a, b] = program.steps[i];
    const bool has_two = operation == kAdd || operation == kMultiply;
    text += concat("r", i, " = ", kNames[static_cast<int>(operation)], "(", program.name_of(a),
                   has_two ? ", " + program.name_of(b) : "", "), ");
  }
  for (std::size_t i = 0; i < program.losses.size(); ++i)
    text += concat(i == 0 ? "then backward(" : ", backward(", program.name_of(program.losses[i]), ")");
  return text;
}

void check_gradient(Check& check, const Program& program, std::size_t parameter, double got) {
  const std::vector<Dual> numbers = derivatives_by(program, parameter);
  double expected = 0, bound = 0;
  for (const std::int32_t loss : program.losses) {
    expected += numbers[loss].derivative;
    bound += numbers[loss].bound;
  }
  // Each operation on the way rounds by 1e-16 of the bound; the longest programs have 200,000 of them,
  // and lead to numbers too small for a double.
  if (std::abs(got - expected) <= 1e-10 * bound + 1e-300) return;
  check.wrong(
      concat(text_of(program), ": the gradient of p", parameter, " should be ", shown(expected), ", got ", shown(got)),
      std::isnan(got) ? "" : "work the example out on paper: which contributions does this parameter get?");
}

void check_program(Check& check, const Program& program) {
  const Outcome& outcome = check.run({.question = [&](int) {
    std::vector<std::int32_t> operations;
    for (const auto& [operation, a, b] : program.steps)
      operations.insert(operations.end(), {static_cast<std::int32_t>(operation), a, b});
    return nlohmann::json{{"parameters", to_message(std::span<const double>(program.parameters))},
                          {"operations", to_message(std::span<const std::int32_t>(operations))},
                          {"losses", to_message(std::span<const std::int32_t>(program.losses))}};
  }});
  const auto values = check.numbers<double>(outcome, 0, "values");
  const auto gradients = check.numbers<double>(outcome, 0, "gradients");
  check.expect(values.size() == program.parameters.size() + program.steps.size() &&
                   gradients.size() == program.parameters.size(),
               "the program's answer makes no sense");
  const std::vector<Dual> expected = derivatives_by(program, 0);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!(std::abs(values[i] - expected[i].value) <= 1e-9 * std::abs(expected[i].value)))
      check.wrong(concat(text_of(program), ": the value of ", program.name_of(static_cast<std::int32_t>(i)),
                         " should be ", shown(expected[i].value), ", got ", shown(values[i])));
  for (std::size_t i = 0; i < gradients.size(); ++i) check_gradient(check, program, i, gradients[i]);
}

// Number 0 doubled so many times: 2^doublings ways lead from the loss to it.
Program doublings(std::int32_t count) {
  Program program{{0.5}, {}, {count}};
  for (std::int32_t i = 0; i < count; ++i) program.steps.push_back({kAdd, i, i});
  return program;
}

// Numbers stay in [-1, 1], because each sum goes through a tanh.
Program random_program(std::uint64_t seed, std::size_t step_count) {
  const std::vector<float> random = random_floats(seed, 0, 5 + 3 * step_count);
  Program program{{random.begin(), random.begin() + 5}, {}, {}};
  for (std::size_t i = 0; i < step_count; ++i) {
    const auto count = static_cast<std::int32_t>(5 + program.steps.size());
    const auto pick = [&](std::size_t k, std::int32_t most) {
      return static_cast<std::int32_t>((random[5 + 3 * i + k] + 1.0) / 2.001 * most);
    };
    const auto operation = static_cast<ScalarOperation>(pick(0, 4));
    program.steps.push_back({operation, pick(1, count), pick(2, count)});
    if (operation == kAdd) program.steps.push_back({kTanh, count, count});
  }
  const auto last = static_cast<std::int32_t>(4 + program.steps.size());
  program.losses = {last, last / 2, last - 1};
  return program;
}

// A parameter multiplied by itself and squashed, again and again.
Program long_chain(std::int32_t step_count) {
  Program program{{0.9, 1.5}, {}, {step_count + 1}};
  for (std::int32_t i = 0; i < step_count; ++i) {
    const std::int32_t before = i == 0 ? 0 : i + 1;
    program.steps.push_back(i % 2 == 0 ? Step{kMultiply, before, 1} : Step{kTanh, before, before});
  }
  return program;
}

}  // namespace

void judge_05_2(Examination& exam) {
  exam.check("a sum", [](Check& check) { check_program(check, {{2, 3}, {{kAdd, 0, 1}}, {2}}); });
  exam.check("a product", [](Check& check) { check_program(check, {{2, 5}, {{kMultiply, 0, 1}}, {2}}); });
  exam.check("tanh", [](Check& check) { check_program(check, {{0.5}, {{kTanh, 0, 0}}, {1}}); });
  exam.check("relu of a positive number, of 0 and of a negative one", [](Check& check) {
    for (const double value : {2.0, 0.0, -2.0}) check_program(check, {{value}, {{kRelu, 0, 0}}, {1}});
  });
  exam.check("two operations: the chain rule", [](Check& check) {
    check_program(check, {{2, 0.25}, {{kMultiply, 0, 1}, {kTanh, 2, 2}}, {3}});
    check_program(check, {{2, 0.25}, {{kTanh, 1, 1}, {kMultiply, 0, 2}}, {3}});
    check_program(check, {{2, 0.25}, {{kRelu, 1, 1}, {kMultiply, 0, 2}, {kRelu, 3, 3}}, {4}});
  });
  exam.check("a parameter used twice", [](Check& check) { check_program(check, {{3}, {{kMultiply, 0, 0}}, {1}}); });
  exam.check("a computed number used twice", [](Check& check) {
    check_program(check, {{3, 5}, {{kAdd, 0, 1}, {kMultiply, 2, 2}, {kMultiply, 2, 3}}, {4}});
  });
  exam.check("numbers that the loss does not depend on", [](Check& check) {
    check_program(check, {{3, 5}, {{kMultiply, 0, 0}, {kMultiply, 1, 2}}, {2}});
  });
  exam.check("two losses on one tape", [](Check& check) {
    check_program(check, {{3, 5}, {{kMultiply, 0, 1}, {kMultiply, 2, 2}, {kAdd, 2, 1}}, {3, 4}});
  });
  exam.check("60 doublings: each node's function is called once",
             [](Check& check) { check_program(check, doublings(60)); });
  exam.check("programs made at random", [](Check& check) {
    for (std::uint64_t i = 0; i < 3; ++i) check_program(check, random_program(check.seed() + i, 60));
  });
  exam.full_check("200,000 operations in a row", [](Check& check) { check_program(check, long_chain(200'000)); });
}

}  // namespace lockstep::exercise
