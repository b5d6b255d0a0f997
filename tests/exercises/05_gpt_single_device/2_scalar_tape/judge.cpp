#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "exercise/examination.hpp"
#include "program.hpp"
#include "wrong_rules.hpp"

namespace lockstep::exercise {
namespace checks_05_2 {

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

std::vector<Dual> derivatives_by(const TapeProgram& program, std::size_t parameter) {
  std::vector<Dual> numbers;
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    const double own = i == parameter ? 1 : 0;
    numbers.push_back({program.parameters[i], own, own});
  }
  for (const TapeStep& step : program.steps) numbers.push_back(apply(step.operation, numbers[step.a], numbers[step.b]));
  return numbers;
}

// "r0 = multiply(p0, p0); loss r0", if it is short.
std::string text_of(const TapeProgram& program) {
  constexpr std::size_t kMost = 6;
  if (program.steps.size() > kMost) return concat(program.steps.size(), " operations");
  std::string text;
  for (std::size_t i = 0; i < program.parameters.size(); ++i)
    text += concat("p", i, " = ", shown(program.parameters[i]), ", ");
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const auto& [operation, a, b] = program.steps[i];
    const bool has_two = operation == kAdd || operation == kMultiply;
    text += concat("r", i, " = ", kTapeOperations[static_cast<int>(operation)], "(", program.name_of(a),
                   has_two ? ", " + program.name_of(b) : "", "), ");
  }
  for (std::size_t i = 0; i < program.losses.size(); ++i)
    text += concat(i == 0 ? "then backward(" : ", backward(", program.name_of(program.losses[i]), ")");
  return text;
}

// Whether `got` is the sum of all losses' derivatives by a parameter.
bool is_gradient(const TapeProgram& program, std::size_t parameter, double got, double& expected) {
  const std::vector<Dual> numbers = derivatives_by(program, parameter);
  double bound = 0;
  expected = 0;
  for (const std::int32_t loss : program.losses) {
    expected += numbers[loss].derivative;
    bound += numbers[loss].bound;
  }
  // Each operation on the way rounds by 1e-16 of the bound; the longest programs have 200,000 of them,
  // and lead to numbers too small for a double.
  return std::abs(got - expected) <= 1e-10 * bound + 1e-300;
}

// The answers to a program of several.
struct Answered {
  TapeProgram program;
  std::vector<double> values, gradients;
};

void check_values(Check& check, const Answered& answered) {
  const TapeProgram& program = answered.program;
  const std::vector<Dual> expected = derivatives_by(program, 0);
  for (std::size_t i = 0; i < answered.values.size(); ++i)
    if (!(std::abs(answered.values[i] - expected[i].value) <= 1e-9 * std::abs(expected[i].value)))
      check.wrong(concat(text_of(program), ": the value of ", program.name_of(static_cast<std::int32_t>(i)),
                         " should be ", shown(expected[i].value), ", got ", shown(answered.values[i])));
}

// Whether a rule gives what was answered for this program.
bool fits(const TapeRule& rule, const Answered& answered) {
  const std::vector<double> gradients = gradients_by(rule, answered.program);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const double size = std::max(std::abs(gradients[i]), std::abs(answered.gradients[i]));
    if (!(std::abs(gradients[i] - answered.gradients[i]) <= 1e-9 * size)) return false;
  }
  return true;
}

// The rules that give what was answered for all of these programs.
std::string explain_gradients(std::span<const Answered> all) {
  constexpr std::size_t kMost = 200;  // steps: a rule that visits nodes too often takes long for more
  if (std::ranges::any_of(all, [](const Answered& one) { return one.program.steps.size() > kMost; })) return "";
  std::vector<std::string> causes;
  for (const TapeRule& rule : kTapeRules)
    if (std::ranges::all_of(all, [&](const Answered& one) { return fits(rule, one); })) causes.push_back(rule.what);
  return what_comes_out(causes);
}

const Outcome& run_program(Check& check, const TapeProgram& program, bool wants_computed) {
  return check.run({.question = [&](int) {
    std::vector<std::int32_t> operations;
    for (const auto& [operation, a, b] : program.steps)
      operations.insert(operations.end(), {static_cast<std::int32_t>(operation), a, b});
    return nlohmann::json{{"parameters", to_message(std::span<const double>(program.parameters))},
                          {"operations", to_message(std::span<const std::int32_t>(operations))},
                          {"losses", to_message(std::span<const std::int32_t>(program.losses))},
                          {"wants_computed", wants_computed}};
  }});
}

// r0 = p0 p1, r1 = r0 r0, r2 = r1 + r0, and the losses r1 and then r2: the gradients of computed numbers are those of
// r2, by r0: 2 r0 + 1 = 31.
void check_computed(Check& check) {
  const TapeProgram program{{3, 5}, {{kMultiply, 0, 1}, {kMultiply, 2, 2}, {kAdd, 3, 2}}, {3, 4}};
  const std::vector<double> expected = {31, 1, 1};
  const Outcome& outcome = run_program(check, program, true);
  const std::vector<double> got = check.numbers<double>(outcome, 0, "computed");
  check.expect(got.size() == expected.size(), "the program's answer makes no sense");
  for (std::size_t i = 0; i < got.size(); ++i)
    if (got[i] == 0 && i + 1 == got.size())
      check.wrong(concat(text_of(program), ": after the last backward(), the gradient of r", i,
                         ", the loss, is 0; its own gradient is 1, and gradient() is to give it back"),
                  "set or add the 1 at the beginning of backward(), and clear no gradient on the way");
    else if (got[i] != expected[i])
      check.wrong(
          concat(text_of(program), ": after the last backward(), the gradient of r", i, " should be ",
                 shown(expected[i]), ", got ", shown(got[i]),
                 got[i] == 0 ? ": it has been cleared, although gradient() is to give it back" : ""),
          got[i] == 0 ? "clear the gradients of computed numbers at the beginning of backward(), not on the way" : "");
}

// The programs are run one after another. All are answered before any is looked at: what one of them leaves open,
// another decides.
void check_programs(Check& check, std::vector<TapeProgram> programs) {
  std::vector<Answered> all;
  for (TapeProgram& program : programs) {
    const Outcome& outcome = run_program(check, program, false);
    Answered answered{std::move(program), check.numbers<double>(outcome, 0, "values"),
                      check.numbers<double>(outcome, 0, "gradients")};
    check.expect(answered.values.size() == answered.program.parameters.size() + answered.program.steps.size() &&
                     answered.gradients.size() == answered.program.parameters.size(),
                 "the program's answer makes no sense");
    all.push_back(std::move(answered));
  }
  for (const Answered& answered : all) check_values(check, answered);
  for (const auto& [program, values, gradients] : all) {
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      double expected = 0;
      if (is_gradient(program, i, gradients[i], expected)) continue;
      const std::string meaning = explain_gradients(all);
      check.wrong(concat(text_of(program), ": the gradient of p", i, " should be ", shown(expected), ", got ",
                         shown(gradients[i]), meaning.empty() ? "" : ": ", meaning),
                  std::isnan(gradients[i]) || !meaning.empty()
                      ? ""
                      : "work the example out on paper: which contributions does this parameter get?");
    }
  }
}

void check_program(Check& check, const TapeProgram& program) { check_programs(check, {program}); }

// Number 0 doubled `doublings` times: 2^doublings ways lead from the loss to it.
TapeProgram doublings(std::int32_t count) {
  TapeProgram program{{0.5}, {}, {count}};
  for (std::int32_t i = 0; i < count; ++i) program.steps.push_back({kAdd, i, i});
  return program;
}

// Numbers stay in [-1, 1], because each sum goes through a tanh.
TapeProgram random_program(std::uint64_t seed, std::size_t step_count) {
  const std::vector<float> random = random_floats(seed, 0, 5 + 3 * step_count);
  TapeProgram program{{random.begin(), random.begin() + 5}, {}, {}};
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
TapeProgram long_chain(std::int32_t step_count) {
  TapeProgram program{{0.9, 1.5}, {}, {step_count + 1}};
  for (std::int32_t i = 0; i < step_count; ++i) {
    const std::int32_t before = i == 0 ? 0 : i + 1;
    program.steps.push_back(i % 2 == 0 ? TapeStep{kMultiply, before, 1} : TapeStep{kTanh, before, before});
  }
  return program;
}

}  // namespace checks_05_2

void judge_05_2(Examination& exam) {
  using namespace checks_05_2;
  exam.check("a sum", [](Check& check) { check_program(check, {{2, 3}, {{kAdd, 0, 1}}, {2}}); });
  exam.check("a product", [](Check& check) { check_program(check, {{2, 5}, {{kMultiply, 0, 1}}, {2}}); });
  exam.check("tanh", [](Check& check) { check_program(check, {{0.5}, {{kTanh, 0, 0}}, {1}}); });
  exam.check("relu of a positive number, of 0 and of a negative one", [](Check& check) {
    std::vector<TapeProgram> programs;
    for (const double value : {2.0, 0.0, -2.0}) programs.push_back({{value}, {{kRelu, 0, 0}}, {1}});
    programs.push_back({{2, -3}, {{kRelu, 0, 0}, {kMultiply, 2, 1}}, {3}});  // a negative gradient arrives
    check_programs(check, std::move(programs));
  });
  exam.check("two operations: the chain rule", [](Check& check) {
    check_programs(check, {{{2, 0.25}, {{kMultiply, 0, 1}, {kTanh, 2, 2}}, {3}},
                           {{2, 0.25}, {{kTanh, 1, 1}, {kMultiply, 0, 2}}, {3}},
                           {{2, 0.25}, {{kRelu, 1, 1}, {kMultiply, 0, 2}, {kRelu, 3, 3}}, {4}}});
  });
  exam.check("a parameter used twice", [](Check& check) {
    check_programs(check, {{{3}, {{kMultiply, 0, 0}}, {1}}, {{3}, {{kAdd, 0, 0}}, {1}}});
  });
  exam.check("a computed number used twice", [](Check& check) {
    check_program(check, {{3, 5}, {{kAdd, 0, 1}, {kMultiply, 2, 2}, {kMultiply, 2, 3}}, {4}});
  });
  exam.check("numbers that the loss does not depend on", [](Check& check) {
    check_program(check, {{3, 5}, {{kMultiply, 0, 0}, {kMultiply, 1, 2}}, {2}});
  });
  exam.check("two losses on one tape", [](Check& check) {
    check_program(check, {{3, 5}, {{kMultiply, 0, 1}, {kMultiply, 2, 2}, {kAdd, 2, 1}}, {3, 4}});
  });
  exam.check("the same loss twice, and an earlier loss after a later one", [](Check& check) {
    const std::vector<TapeStep> steps = {{kMultiply, 0, 1}, {kMultiply, 2, 2}, {kAdd, 3, 1}};
    check_programs(check, {{{3, 5}, steps, {4, 4}}, {{3, 5}, steps, {4, 3}}, {{3, 5}, steps, {4, 2, 3}}});
  });
  exam.check("the gradients of computed numbers", check_computed);
  exam.check("60 doublings: each node's function is called once",
             [](Check& check) { check_program(check, doublings(60)); });
  exam.check("programs made at random", [](Check& check) {
    for (std::uint64_t i = 0; i < 3; ++i) check_program(check, random_program(check.seed() + i, 60));
  });
  exam.full_check("200,000 operations in a row", [](Check& check) { check_program(check, long_chain(200'000)); });
}

}  // namespace lockstep::exercise
