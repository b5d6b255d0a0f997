#include <cmath>

#include "05_gpt_single_device/1_adamw/adamw.hpp"
#include "base/error.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_05_1 {

using optim::AdamWSettings;

// Parameters, and one row of gradients for each step.
struct Run {
  std::vector<float> parameter;
  std::vector<float> gradients;
  std::int64_t first_step = 1;  // the number of the first one; the moments are zeros before it in any case
};

// The values after one step, in double precision from start to end.
struct State {
  std::vector<double> parameter, first_moment, second_moment;
};

// The factors and exponents of one step; what is not changed is right.
struct Formula {
  double shrink;                      // of the parameter before the step
  double keep1, take1, keep2, take2;  // of old moment and gradient
  double correction1, correction2;    // what the moments are divided by
  double learning_rate, epsilon;      // of the step; a negative rate goes the wrong way
  double root = 0.5;                  // exponent of the second moment
  double in_root = 0;                 // added under the root
  double coupled_decay = 0;           // of the parameter, added to its gradient
  double square = 2;                  // exponent of the gradient in the second moment
  bool uses_gradient = false;         // in place of the first moment
  bool squares_moment = false;        // in place of the gradient
  bool keeps_corrected = false;       // stores the corrected moments
  bool keeps_moments = false;         // stores nothing
};

Formula right_formula(const AdamWSettings& settings) {
  return {.shrink = 1 - settings.learning_rate * settings.weight_decay,
          .keep1 = settings.beta1,
          .take1 = 1 - settings.beta1,
          .keep2 = settings.beta2,
          .take2 = 1 - settings.beta2,
          .correction1 = 1 - std::pow(settings.beta1, settings.step),
          .correction2 = 1 - std::pow(settings.beta2, settings.step),
          .learning_rate = settings.learning_rate,
          .epsilon = settings.epsilon};
}

void advance(State& state, std::span<const float> gradient, const Formula& formula) {
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    double &p = state.parameter[i], &m = state.first_moment[i], &v = state.second_moment[i];
    const double g = gradient[i] + formula.coupled_decay * p;
    const double first = formula.keep1 * m + formula.take1 * g;
    const double squared = formula.squares_moment ? first : g;
    const double second = formula.keep2 * v +
                          formula.take2 * (formula.square == 1 ? squared : std::pow(std::abs(squared), formula.square));
    const double corrected = formula.uses_gradient ? g : first / formula.correction1;
    const double corrected_square = second / formula.correction2;
    p *= formula.shrink;
    p -= formula.learning_rate * corrected /
         (std::pow(corrected_square + formula.in_root, formula.root) + formula.epsilon);
    if (formula.keeps_moments) continue;
    m = formula.keeps_corrected ? first / formula.correction1 : first;
    v = formula.keeps_corrected ? corrected_square : second;
  }
}

using Change = void (*)(Formula& formula, const AdamWSettings& settings);

// Common mistakes. Each changes the right formula.
constexpr std::pair<const char*, Change> kWrong[] = {
    {"the new gradient is not multiplied by 1 - beta1, nor its square by 1 - beta2",
     [](Formula& f, const AdamWSettings&) { f.take1 = f.take2 = 1; }},
    {"the gradient is not multiplied by 1 - beta1", [](Formula& f, const AdamWSettings&) { f.take1 = 1; }},
    {"the squared gradient is not multiplied by 1 - beta2", [](Formula& f, const AdamWSettings&) { f.take2 = 1; }},
    {"beta and 1 - beta are exchanged: a moment keeps a share beta of its old value",
     [](Formula& f, const AdamWSettings&) { std::swap(f.keep1, f.take1), std::swap(f.keep2, f.take2); }},
    {"1 - beta2 is squared together with the gradient", [](Formula& f, const AdamWSettings&) { f.take2 *= f.take2; }},
    {"beta2 belongs to the first moment and beta1 to the second",
     [](Formula& f, const AdamWSettings&) { std::swap(f.keep1, f.keep2), std::swap(f.take1, f.take2); }},
    {"the squared gradient is multiplied by 1 - beta1, not by 1 - beta2",
     [](Formula& f, const AdamWSettings&) { f.take2 = f.take1; }},
    {"the gradient is multiplied by 1 - beta2, not by 1 - beta1",
     [](Formula& f, const AdamWSettings&) { f.take1 = f.take2; }},
    {"beta1 belongs to both moments", [](Formula& f, const AdamWSettings&) { f.keep2 = f.keep1, f.take2 = f.take1; }},
    {"beta2 belongs to both moments", [](Formula& f, const AdamWSettings&) { f.keep1 = f.keep2, f.take1 = f.take2; }},
    {"the second moment takes the gradient, not its square", [](Formula& f, const AdamWSettings&) { f.square = 1; }},
    {"the second moment takes the square of the first moment, not of the gradient",
     [](Formula& f, const AdamWSettings&) { f.squares_moment = true; }},
    {"the moments are computed but not stored", [](Formula& f, const AdamWSettings&) { f.keeps_moments = true; }},
    {"neither moment is corrected", [](Formula& f, const AdamWSettings&) { f.correction1 = f.correction2 = 1; }},
    {"the second moment is corrected outside of the root: sqrt(v) / (1 - beta2^t), not sqrt(v / (1 - beta2^t))",
     [](Formula& f, const AdamWSettings&) { f.correction2 *= f.correction2; }},
    {"the first moment is divided by the root of its correction",
     [](Formula& f, const AdamWSettings&) { f.correction1 = std::sqrt(f.correction1); }},
    {"only the first moment is corrected", [](Formula& f, const AdamWSettings&) { f.correction2 = 1; }},
    {"only the second moment is corrected", [](Formula& f, const AdamWSettings&) { f.correction1 = 1; }},
    {"the second moment is corrected with beta1",
     [](Formula& f, const AdamWSettings&) { f.correction2 = f.correction1; }},
    {"the first moment is corrected with beta2",
     [](Formula& f, const AdamWSettings&) { f.correction1 = f.correction2; }},
    {"the moments are multiplied by 1 - beta^t instead of divided",
     [](Formula& f, const AdamWSettings&) { f.correction1 = 1 / f.correction1, f.correction2 = 1 / f.correction2; }},
    {"the moments are divided by 1 - beta, not by 1 - beta^t: step is the exponent",
     [](Formula& f, const AdamWSettings& s) { f.correction1 = 1 - s.beta1, f.correction2 = 1 - s.beta2; }},
    {"the moments are divided by 1 - beta * t, not by 1 - beta^t: step is an exponent",
     [](Formula& f, const AdamWSettings& s) {
       const auto t = static_cast<double>(s.step);
       f.correction1 = 1 - s.beta1 * t, f.correction2 = 1 - s.beta2 * t;
     }},
    {"the exponent of the corrections is step + 1",
     [](Formula& f, const AdamWSettings& s) {
       const auto t = static_cast<double>(s.step + 1);
       f.correction1 = 1 - std::pow(s.beta1, t), f.correction2 = 1 - std::pow(s.beta2, t);
     }},
    {"the corrected moments are stored", [](Formula& f, const AdamWSettings&) { f.keeps_corrected = true; }},
    {"the step is divided by the corrected second moment itself, not by its root",
     [](Formula& f, const AdamWSettings&) { f.root = 1; }},
    {"epsilon is added under the root", [](Formula& f, const AdamWSettings&) { f.in_root = f.epsilon, f.epsilon = 0; }},
    {"epsilon is missing", [](Formula& f, const AdamWSettings&) { f.epsilon = 0; }},
    {"epsilon is added to the root before that is corrected: PyTorch corrects first",
     [](Formula& f, const AdamWSettings&) { f.epsilon /= std::sqrt(f.correction2); }},
    {"the step takes the gradient, not the first moment",
     [](Formula& f, const AdamWSettings&) { f.uses_gradient = true; }},
    {"the step is added instead of subtracted",
     [](Formula& f, const AdamWSettings&) { f.learning_rate = -f.learning_rate; }},
    {"the step is not multiplied by the learning rate", [](Formula& f, const AdamWSettings&) { f.learning_rate = 1; }},
    {"the parameter does not shrink", [](Formula& f, const AdamWSettings&) { f.shrink = 1; }},
    {"the parameter grows by the weight decay instead of shrinking",
     [](Formula& f, const AdamWSettings&) { f.shrink = 2 - f.shrink; }},
    {"the parameter shrinks by weight_decay alone, without the learning rate",
     [](Formula& f, const AdamWSettings& s) { f.shrink = 1 - s.weight_decay; }},
    {"the parameter shrinks by the learning rate alone, without weight_decay",
     [](Formula& f, const AdamWSettings& s) { f.shrink = 1 - s.learning_rate; }},
    {"the decay is added to the gradient",
     [](Formula& f, const AdamWSettings& s) { f.shrink = 1, f.coupled_decay = s.weight_decay; }},
};

// The step that led to a parameter's value.
std::string explain_parameter(double got, double expected, double before) {
  if (std::isnan(got)) return "not a number, as from 0 / 0";
  if (std::isinf(got)) return "infinite, as from a division by 0";
  return concat("it moved by ", shown(got - before), " instead of ", shown(expected - before));
}

// How the parameters have moved in one step: all by the same factor too far, or one of them not at all.
std::string explain_moves(std::span<const float> got, std::span<const double> expected,
                          std::span<const double> before) {
  std::vector<float> moved;
  std::vector<double> wanted;
  for (std::size_t i = 0; i < got.size(); ++i) {
    moved.push_back(static_cast<float>(got[i] - before[i]));
    wanted.push_back(expected[i] - before[i]);
  }
  const std::string text = explain_array(moved, wanted, {.relative = 1e-4, .absolute = 1e-7}, {});
  return text.empty() ? "" : concat("; of how far each parameter moves, ", text);
}

State start_of(const Run& run) {
  const std::size_t count = run.parameter.size();
  return {{run.parameter.begin(), run.parameter.end()}, std::vector<double>(count), std::vector<double>(count)};
}

// All three arrays after each of the first `steps` steps, one after the other.
std::vector<double> history(const Run& run, AdamWSettings settings, std::size_t steps, Change change) {
  State state = start_of(run);
  std::vector<double> all;
  for (std::size_t step = 0; step < steps; ++step) {
    settings.step = run.first_step + static_cast<std::int64_t>(step);
    Formula formula = right_formula(settings);
    if (change != nullptr) change(formula, settings);
    advance(state, std::span(run.gradients).subspan(step * run.parameter.size(), run.parameter.size()), formula);
    for (const auto* values : {&state.parameter, &state.first_moment, &state.second_moment})
      all.insert(all.end(), values->begin(), values->end());
  }
  return all;
}

// The wrong formula that gives everything that the learner's code has given up to and including this step.
std::string explain_history(const Run& run, const AdamWSettings& settings, std::size_t steps,
                            std::span<const float> got) {
  std::vector<WrongFormula> formulas;
  for (const auto& [what, change] : kWrong)
    formulas.push_back({what, [&, change = change] { return history(run, settings, steps, change); }});
  return explain_formula(got, history(run, settings, steps, nullptr), {.relative = 1e-4, .absolute = 1e-6}, formulas);
}

void check_run(Check& check, const Run& run, AdamWSettings settings) {
  const std::size_t count = run.parameter.size();
  const std::size_t steps = count == 0 ? 1 : run.gradients.size() / count;
  const Outcome& outcome = check.run({.question = [&](int) {
    return nlohmann::json{{"parameter", to_message(std::span<const float>(run.parameter))},
                          {"gradients", to_message(std::span<const float>(run.gradients))},
                          {"steps", steps},
                          {"first_step", run.first_step},
                          {"learning_rate", settings.learning_rate},
                          {"beta1", settings.beta1},
                          {"beta2", settings.beta2},
                          {"epsilon", settings.epsilon},
                          {"weight_decay", settings.weight_decay}};
  }});
  const auto parameters = check.numbers<float>(outcome, 0, "parameters");
  const auto first_moments = check.numbers<float>(outcome, 0, "first_moments");
  const auto second_moments = check.numbers<float>(outcome, 0, "second_moments");
  for (const auto* values : {&parameters, &first_moments, &second_moments})
    check.expect(values->size() == steps * count, "an array changed its length");
  State state = start_of(run);
  std::vector<float> got_so_far;
  for (std::size_t step = 0; step < steps; ++step) {
    const std::vector<double> before = state.parameter;
    settings.step = run.first_step + static_cast<std::int64_t>(step);
    advance(state, std::span(run.gradients).subspan(step * count, count), right_formula(settings));
    const auto row = [&](const std::vector<float>& values) { return std::span(values).subspan(step * count, count); };
    // Code that computes in float is right too. Its largest error is that of 1 - beta2: half an ulp of 1 (6e-8) in 1e-3
    // is 6e-5, half of which remains under the root. Each step adds to the error, and rounds the parameter twice. The
    // moments are sums whose terms may cancel.
    const auto done = static_cast<double>(step + 1);
    const std::string when = concat(" after step ", step + 1);
    for (const auto* values : {&parameters, &first_moments, &second_moments})
      got_so_far.insert(got_so_far.end(), row(*values).begin(), row(*values).end());
    const auto explain = [&] { return explain_history(run, settings, step + 1, got_so_far); };
    check.compare(concat("the parameter", when), row(parameters), state.parameter,
                  {.relative = 1e-6 + 1.2e-7 * done,
                   .absolute = 1e-4 * settings.learning_rate * done,
                   .explain = [&](std::size_t i, double got, double expected) {
                     const std::string formula = explain();
                     return concat(explain_parameter(got, expected, before[i]),
                                   formula.empty() ? explain_moves(row(parameters), state.parameter, before)
                                                   : concat("; ", formula));
                   }});
    check.compare(
        concat("the first moment", when), row(first_moments), state.first_moment,
        {.relative = 1e-4, .absolute = 1e-7, .explain = [&](std::size_t, double, double) { return explain(); }});
    check.compare(
        concat("the second moment", when), row(second_moments), state.second_moment,
        {.relative = 1e-4, .absolute = 1e-9, .explain = [&](std::size_t, double, double) { return explain(); }});
  }
}

Run random_run(std::uint64_t seed, std::size_t count, std::size_t steps, float gradient_scale = 1) {
  Run run{.parameter = random_floats(seed, 0, count), .gradients = random_floats(seed, 1, count * steps)};
  for (float& gradient : run.gradients) gradient *= gradient_scale;
  return run;
}

}  // namespace checks_05_1

void judge_05_1(Examination& exam) {
  using namespace checks_05_1;
  exam.check("the first step moves each parameter by the learning rate", [](Check& check) {
    // With 0.999 for beta2, two different mistakes would give the same step.
    check_run(check, {{1, 1, -2}, {0.5F, -0.25F, 4}}, {.learning_rate = 0.125, .beta2 = 0.95, .weight_decay = 0});
  });
  exam.check("three steps without weight decay", [](Check& check) {
    check_run(check, {{1, 2}, {0.5F, -1, 0.25F, 1, -0.5F, 0.5F}}, {.learning_rate = 0.125, .weight_decay = 0});
  });
  exam.check("a gradient of zero: only the decay is left", [](Check& check) {
    check_run(check, {{8, -4, 0}, {0, 0, 0, 0, 0, 0}}, {.learning_rate = 0.125, .weight_decay = 0.5});
  });
  exam.check("gradient and decay together", [](Check& check) {
    check_run(check, {{8, -4}, {0.5F, 1, -1, 1}}, {.learning_rate = 0.125, .weight_decay = 0.5});
  });
  exam.check("gradients as small as epsilon", [](Check& check) {
    check_run(check, {{1, 1}, {0.5F, -0.25F, 0.5F, 0.5F}}, {.learning_rate = 0.125, .epsilon = 0.5, .weight_decay = 0});
  });
  exam.check("a run that begins with step 7", [](Check& check) {
    Run run = random_run(check.seed(), 4, 3);
    run.first_step = 7;
    check_run(check, run, {.learning_rate = 0.01});
  });
  exam.check("other betas", [](Check& check) {
    check_run(check, random_run(check.seed(), 4, 3), {.learning_rate = 0.01, .beta1 = 0.5, .beta2 = 0.75});
  });
  exam.check("no parameters", [](Check& check) { check_run(check, {}, {}); });
  exam.check("1000 parameters, 20 steps, PyTorch's defaults",
             [](Check& check) { check_run(check, random_run(check.seed(), 1000, 20), {}); });
  exam.full_check("2000 steps of small gradients", [](Check& check) {
    check_run(check, random_run(check.seed(), 16, 2000, 1e-3F), {.learning_rate = 3e-4, .weight_decay = 0.1});
  });
}

}  // namespace lockstep::exercise
