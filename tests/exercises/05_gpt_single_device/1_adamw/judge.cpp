#include <cmath>

#include "05_gpt_single_device/1_adamw/adamw.hpp"
#include "base/error.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace {

using optim::AdamWSettings;

// Parameters, and one row of gradients for each step.
struct Run {
  std::vector<float> parameter;
  std::vector<float> gradients;
};

// What holds after one step, in double precision from start to end.
struct State {
  std::vector<double> parameter, first_moment, second_moment;
};

void advance(State& state, std::span<const float> gradient, const AdamWSettings& settings) {
  const double left1 = std::pow(settings.beta1, settings.step), left2 = std::pow(settings.beta2, settings.step);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const double g = gradient[i];
    double &p = state.parameter[i], &m = state.first_moment[i], &v = state.second_moment[i];
    m += (1 - settings.beta1) * (g - m);
    v += (1 - settings.beta2) * (g * g - v);
    p -= settings.learning_rate * settings.weight_decay * p;
    p -= settings.learning_rate * (m / (1 - left1)) / (std::sqrt(v / (1 - left2)) + settings.epsilon);
  }
}

// What a parameter's value says about the step that led to it.
std::string explain_parameter(double got, double expected, double before) {
  if (std::isnan(got)) return "not a number, as from 0 / 0";
  if (std::isinf(got)) return "infinite, as from a division by 0";
  return concat("it moved by ", shown(got - before), " instead of ", shown(expected - before));
}

void check_run(Check& check, const Run& run, AdamWSettings settings) {
  const std::size_t count = run.parameter.size();
  const std::size_t steps = count == 0 ? 1 : run.gradients.size() / count;
  const Outcome& outcome = check.run({.question = [&](int) {
    return nlohmann::json{{"parameter", to_message(std::span<const float>(run.parameter))},
                          {"gradients", to_message(std::span<const float>(run.gradients))},
                          {"steps", steps},
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
  State state{{run.parameter.begin(), run.parameter.end()}, std::vector<double>(count), std::vector<double>(count)};
  for (std::size_t step = 0; step < steps; ++step) {
    const std::vector<double> before = state.parameter;
    settings.step = static_cast<std::int64_t>(step + 1);
    advance(state, std::span(run.gradients).subspan(step * count, count), settings);
    const auto row = [&](const std::vector<float>& values) { return std::span(values).subspan(step * count, count); };
    // Code that computes in float is right too. Its largest error is that of 1 - beta2: half an ulp of 1 (6e-8) in 1e-3
    // is 6e-5, half of which remains under the root. Each step adds to the error, and rounds the parameter twice. The
    // moments are sums whose terms may cancel.
    const auto done = static_cast<double>(step + 1);
    const std::string when = concat(" after step ", step + 1);
    check.compare(concat("the parameter", when), row(parameters), state.parameter,
                  {.relative = 1e-6 + 1.2e-7 * done,
                   .absolute = 1e-4 * settings.learning_rate * done,
                   .explain = [&](std::size_t i, double got, double expected) {
                     return explain_parameter(got, expected, before[i]);
                   }});
    check.compare(concat("the first moment", when), row(first_moments), state.first_moment,
                  {.relative = 1e-4, .absolute = 1e-7});
    check.compare(concat("the second moment", when), row(second_moments), state.second_moment,
                  {.relative = 1e-4, .absolute = 1e-9});
  }
}

Run random_run(std::uint64_t seed, std::size_t count, std::size_t steps, float gradient_scale = 1) {
  Run run{random_floats(seed, 0, count), random_floats(seed, 1, count * steps)};
  for (float& gradient : run.gradients) gradient *= gradient_scale;
  return run;
}

}  // namespace

void judge_05_1(Examination& exam) {
  exam.check("the first step moves each parameter by the learning rate", [](Check& check) {
    check_run(check, {{1, 1, -2}, {0.5F, -0.25F, 4}}, {.learning_rate = 0.125, .weight_decay = 0});
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
