#include <algorithm>
#include <cmath>
#include <limits>

#include "../../require_awaited.hpp"
#include "../counted.hpp"
#include "base/error.hpp"
#include "base/philox.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_08_5 {

constexpr std::size_t kCount = 4;  // elements of the gradient
constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

// In one step one rank has something else in one element.
struct Spike {
  int rank;
  std::size_t step;
  double value;
  std::size_t element = 1;
};

struct Scenario {
  int world_size = 1;
  std::size_t steps = 1;
  double scale = 1024;
  double size = 0.25;  // of gradients; a power of 2, so that float16 loses nothing of the numbers below
  std::int64_t growth_interval = 100;
  double max_norm = 1e6;
  double growth_factor = 2, backoff_factor = 0.5;
  std::vector<Spike> spikes = {};
  std::int64_t good_steps = 0;  // before the first step

  // Rank r's element i is a multiple of 8^r, which says in a sum whose it is; elements and steps differ.
  [[nodiscard]] double element(int rank, std::size_t step, std::size_t i) const {
    for (const Spike& spike : spikes)
      if (spike.rank == rank && spike.step == step && spike.element == i) return spike.value;
    const double sign = (step + i) % 3 == 0 ? -1 : 1;
    return sign * size * std::pow(8.0, rank) * static_cast<double>(1 + (i + step) % 3);
  }
};

// The right step.
struct Step {
  bool is_update = true;
  double scale = 0;              // of this step
  double next_scale = 0;         // of the next
  std::vector<double> gradient;  // of the update
  std::string overflow = {};     // where it is, if there is one
};

std::vector<double> mean_of(const Scenario& scenario, std::size_t step) {
  std::vector<double> mean(kCount);
  double squares = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    for (int rank = 0; rank < scenario.world_size; ++rank)
      mean[i] += scenario.element(rank, step, i) / scenario.world_size;
    squares += mean[i] * mean[i];
  }
  if (const double norm = std::sqrt(squares); norm > scenario.max_norm)
    for (double& value : mean) value *= scenario.max_norm / norm;
  return mean;
}

std::vector<Step> expected_steps(const Scenario& scenario) {
  std::vector<Step> steps;
  double scale = scenario.scale;
  std::int64_t good_steps = scenario.good_steps;
  for (std::size_t s = 0; s < scenario.steps; ++s) {
    Step step{.scale = scale, .gradient = mean_of(scenario, s)};
    for (int rank = 0; rank < scenario.world_size; ++rank)
      for (std::size_t i = 0; i < kCount; ++i)
        if (!(std::abs(scale * scenario.element(rank, s, i)) <= 65504))
          step.overflow = concat("element ", i, " of rank ", rank, "'s gradient is ",
                                 std::isnan(scenario.element(rank, s, i)) ? "NaN" : "infinite");
    step.is_update = step.overflow.empty();
    good_steps = step.is_update ? good_steps + 1 : 0;
    if (!step.is_update) scale *= scenario.backoff_factor;
    if (good_steps == scenario.growth_interval) {
      scale *= scenario.growth_factor;
      good_steps = 0;
    }
    step.next_scale = scale;
    steps.push_back(std::move(step));
  }
  return steps;
}

// @param index  Of the step. @param i  Of the element.
std::string explain(const Scenario& scenario, const Step& step, std::size_t index, std::size_t i, double got,
                    double expected) {
  double unclipped = 0;
  for (int rank = 0; rank < scenario.world_size; ++rank)
    unclipped += scenario.element(rank, index, i) / scenario.world_size;
  const auto is = [&](double value) { return std::abs(got - value) <= 1e-4 * std::abs(value); };
  if (got == 0 && std::abs(unclipped) < 0x1p-24)
    return "it is too small for float16, and has become 0: was the loss scaled?";
  if (got == 0) return "all of it is missing: is a quotient of two integers 0 here?";
  if (!std::isfinite(got)) return "the parameters are lost";
  for (int rank = 0; rank < scenario.world_size && scenario.world_size > 1; ++rank)
    if (is(scenario.element(rank, index, i)) || is(scenario.element(rank, index, i) / scenario.world_size))
      return concat("that is made of rank ", rank, "'s gradient alone, without those of the other ranks");
  if (is(expected * step.scale * step.scale)) return "it has been multiplied by the scale instead of divided";
  const bool is_clipped = std::abs(unclipped - expected) > 1e-4 * std::abs(expected);
  if (is(expected / step.scale) && !is_clipped)
    return "it has been divided by the scale twice, or the loss was not multiplied by it";
  if (is(unclipped)) return concat("its norm is above ", scenario.max_norm, ": it has not been clipped");
  if (scenario.world_size > 1 && is(expected / scenario.world_size))
    return "it has been divided by the number of ranks twice";
  if (is(expected * step.scale)) return concat("it is still multiplied by the scale, ", step.scale);
  if (is(expected / 2) || is(expected * 2))
    return concat("was it divided by the scale of this step, ", step.scale, "?");
  if (scenario.world_size > 1 && is(expected * scenario.world_size))
    return concat("that is the sum over the ranks; the mean is the sum divided by ", scenario.world_size);
  if (std::abs(got) < std::abs(expected) / 8) return "has it been clipped while it was multiplied by the scale?";
  return "";
}

std::string explain_scale(const Step& step, double got) {
  if (!step.is_update && got == 2 * step.scale) return ": it is multiplied by backoff_factor, not by growth_factor";
  if (!step.is_update) return "";
  if (got == step.scale) return ": it should have grown with this update";
  if (got == 2 * step.scale) return ": it has grown too early";
  return got == step.scale + 2 ? ": it is multiplied by growth_factor, which is not added to it" : "";
}

void check_rank(Check& check, const Scenario& scenario, const std::vector<Step>& steps, const Outcome& outcome,
                int rank) {
  const auto returned = check.numbers<std::int64_t>(outcome, rank, "returned"),
             updates = check.numbers<std::int64_t>(outcome, rank, "updates");
  const auto scales = check.numbers<double>(outcome, rank, "scales");
  const auto used = check.numbers<float>(outcome, rank, "used");
  std::size_t made = 0;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const Step& step = steps[s];
    const std::string place = concat("rank ", rank, ", step ", s, " with the scale ", step.scale);
    const std::size_t before = made;
    made += step.is_update ? 1 : 0;
    if (updates.at(s) != static_cast<std::int64_t>(made))
      check.wrong(step.is_update ? concat(place, ": no update was made; all gradients are finite on all ranks")
                                 : concat(place, ": an update was made, but ", step.overflow),
                  step.is_update ? "" : "all ranks skip a step if a gradient of any rank is not finite");
    if (step.is_update)
      // A float for each rank's number, their sum, the quotient and the clipped value: half an ulp each, of 6e-8.
      check.compare(concat(place, ": the gradient of the update"), std::span(used).subspan(before * kCount, kCount),
                    step.gradient, {.relative = 1e-6, .explain = [&](std::size_t i, double got, double expected) {
                                      return explain(scenario, step, s, i, got, expected);
                                    }});
    if ((returned.at(s) != 0) != step.is_update)
      check.wrong(concat(place, step.is_update ? ": an update was made, and false was returned"
                                               : ": the step was skipped, and true was returned"));
    if (scales.at(s) != step.next_scale)
      check.wrong(concat(place, step.is_update ? ", an update" : ", which was skipped", ": the next scale is ",
                         scales[s], "; expected ", step.next_scale, " (growth_interval ", scenario.growth_interval, ")",
                         explain_scale(step, scales[s])));
  }
}

void check_steps(Check& check, const Scenario& scenario, TrialOptions options = {}) {
  options.world_size = scenario.world_size;
  options.question = [&](int rank) {
    std::vector<double> gradients;
    for (std::size_t step = 0; step < scenario.steps; ++step)
      for (std::size_t i = 0; i < kCount; ++i) gradients.push_back(scenario.element(rank, step, i));
    return nlohmann::json{{"steps", static_cast<std::int64_t>(scenario.steps)},
                          {"gradients", to_message(std::span<const double>(gradients))},
                          {"scale", scenario.scale},
                          {"growth_factor", scenario.growth_factor},
                          {"backoff_factor", scenario.backoff_factor},
                          {"growth_interval", scenario.growth_interval},
                          {"good_steps", scenario.good_steps},
                          {"max_norm", scenario.max_norm}};
  };
  const Outcome& outcome = check.run(options);
  require_awaited(check, outcome, scenario.world_size);
  const std::vector<Step> steps = expected_steps(scenario);
  for (int rank = 0; rank < scenario.world_size; ++rank) check_rank(check, scenario, steps, outcome, rank);
}

// Spikes that overflow with every scale, or only while it is large.
Scenario random_scenario(PhiloxSequence& random, int world_size) {
  Scenario scenario{.world_size = world_size, .steps = 30};
  scenario.growth_interval = static_cast<std::int64_t>(2 + random.next_below(4));
  constexpr double kValues[] = {kInfinity, -kInfinity, kNan, 100, 200, -400};
  for (int i = 0; i < 8; ++i)
    scenario.spikes.push_back({.rank = static_cast<int>(random.next_below(static_cast<std::uint64_t>(world_size))),
                               .step = static_cast<std::size_t>(random.next_below(scenario.steps)),
                               .value = kValues[random.next_below(std::size(kValues))],
                               .element = static_cast<std::size_t>(random.next_below(kCount))});
  return scenario;
}

}  // namespace checks_08_5

void judge_08_5(Examination& exam) {
  using namespace checks_08_5;
  exam.check("one rank, gradients of ordinary size", [](Check& check) { check_steps(check, {.steps = 3}); });
  exam.check("gradients that float16 cannot hold unscaled",
             [](Check& check) { check_steps(check, {.steps = 3, .scale = 65536, .size = 0x1p-28}); });
  exam.check("an overflow: the step is skipped, and the scale falls", [](Check& check) {
    check_steps(check, {.steps = 4, .scale = 4096, .spikes = {{0, 1, 20}, {0, 2, 20}}});
  });
  exam.check("the scale grows after every 3 good steps",
             [](Check& check) { check_steps(check, {.steps = 8, .growth_interval = 3}); });
  exam.check("a skipped step begins the count anew", [](Check& check) {
    check_steps(check, {.steps = 8, .growth_interval = 3, .spikes = {{0, 2, kInfinity}}});
  });
  exam.check("a run that is continued after 2 of 4 good steps",
             [](Check& check) { check_steps(check, {.steps = 4, .growth_interval = 4, .good_steps = 2}); });
  exam.check("other factors: a quarter, and 8 times", [](Check& check) {
    check_steps(check, {.steps = 8,
                        .scale = 1,
                        .growth_interval = 2,
                        .growth_factor = 8,
                        .backoff_factor = 0.25,
                        .spikes = {{0, 1, kInfinity}}});
  });
  exam.check("3 ranks: the mean of their gradients",
             [](Check& check) { check_steps(check, {.world_size = 3, .steps = 3, .scale = 256, .size = 0.75}); });
  exam.check("rank 1 alone has an overflow", [](Check& check) {
    check_steps(check, {.world_size = 3, .steps = 4, .spikes = {{1, 1, 1000}}});
  });
  exam.check("two ranks have infinities of opposite signs", [](Check& check) {
    check_steps(check, {.world_size = 2, .steps = 3, .spikes = {{0, 1, kInfinity}, {1, 1, -kInfinity}}});
  });
  exam.check("gradients that are clipped",
             [](Check& check) { check_steps(check, {.world_size = 2, .steps = 3, .max_norm = 2}); });
  exam.full_check("random overflows on 1 to 4 ranks", [](Check& check) {
    PhiloxSequence random(check.seed(), 85);
    for (int ranks = 1; ranks <= 4; ++ranks) check_steps(check, random_scenario(random, ranks));
    check_steps(check, random_scenario(random, 3), {.delayed_rank = 0});
  });
}

}  // namespace lockstep::exercise
