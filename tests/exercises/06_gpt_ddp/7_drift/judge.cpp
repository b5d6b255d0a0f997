#include <algorithm>
#include <cmath>

#include "../../require_awaited.hpp"
#include "base/error.hpp"
#include "base/philox.hpp"
#include "exercise/examination.hpp"
#include "stepped_alone.hpp"

namespace lockstep::exercise {
namespace checks_06_7 {

const char* name_of_tensor(std::int64_t tensor) { return tensor == 0 ? "weight" : "running_mean"; }

std::string describe(std::int64_t tensor, std::int64_t rank) {
  return tensor < 0 ? "no drift" : concat("tensor ", tensor, " of rank ", rank);
}

// The ranks' tensors, by rank.
using Tensors = std::vector<std::vector<float>>;

// Advice if find_drift() is wrong; `tensor`: the one that has drifted.
std::string advice(Check& check, const Outcome& outcome, int world_size, std::int64_t tensor) {
  const auto first = check.numbers<std::int64_t>(outcome, 0, "drift");
  for (int rank = 1; rank < world_size; ++rank)
    if (check.numbers<std::int64_t>(outcome, rank, "drift") != first)
      return "the ranks have returned different drifts: all of them compare the rows of all ranks with rank 0's";
  if (tensor < 0) return "rank r's row begins at r * tensors.size()";
  if (first[0] < 0)
    return "fingerprint() of a whole tensor differs if one bit does: are all tensors of all ranks compared?";
  return "every rank compares every tensor of every rank with rank 0's, the first tensor first";
}

void check_comparison(Check& check, const std::vector<Tensors>& ranks, std::int64_t tensor, std::int64_t culprit,
                      TrialOptions options = {}) {
  options.world_size = static_cast<int>(ranks.size());
  options.question = [&](int rank) {
    std::vector<float> values;
    std::vector<std::int64_t> counts;
    for (const std::vector<float>& of_rank : ranks[static_cast<std::size_t>(rank)]) {
      values.insert(values.end(), of_rank.begin(), of_rank.end());
      counts.push_back(static_cast<std::int64_t>(of_rank.size()));
    }
    return nlohmann::json{{"what", "compare"},
                          {"values", to_message(std::span<const float>(values))},
                          {"counts", to_message(std::span<const std::int64_t>(counts))}};
  };
  const Outcome& outcome = check.run(options);
  const std::int64_t expected[] = {tensor, culprit};
  for (int rank = 0; rank < options.world_size; ++rank) {
    const std::vector<std::int64_t> drift = check.numbers<std::int64_t>(outcome, rank, "drift");
    if (drift[0] != expected[0] || drift[1] != expected[1])
      check.wrong(concat("find_drift() returned ", describe(drift[0], drift[1]), " on rank ", rank, "; right is ",
                         describe(tensor, culprit)),
                  advice(check, outcome, options.world_size, tensor));
    const auto sent = check.get<std::int64_t>(outcome, rank, "sent");
    const auto most = static_cast<std::int64_t>(ranks.front().size());
    check.expect(sent <= most, concat("rank ", rank, " sent ", sent, " numbers to compare ", most,
                                      " tensors; one fingerprint each is enough"));
  }
}

// Replicas that are equal up to one changed element.
std::vector<Tensors> replicas(std::uint64_t seed, std::size_t world_size, std::vector<std::size_t> counts) {
  Tensors tensors;
  for (std::size_t i = 0; i < counts.size(); ++i) tensors.push_back(random_floats(seed, i, counts[i]));
  return std::vector<Tensors>(world_size, tensors);
}

void check_one_bit(Check& check) {
  std::vector<Tensors> ranks = replicas(check.seed(), 3, {50, 8});
  float& value = ranks[2][0][33];
  value = std::nextafter(value, 9.0F);
  check_comparison(check, ranks, 0, 2);
  ranks = replicas(check.seed(), 2, {5, 8});
  ranks[0][1][7] = 0.0F;
  ranks[1][1][7] = -0.0F;
  check_comparison(check, ranks, 1, 1);
}

// The same numbers in another order, as after a wrong copy: their sum is the same.
void check_order(Check& check) {
  std::vector<Tensors> ranks = replicas(check.seed(), 2, {4, 4});
  ranks[0][1] = ranks[1][1] = {1, 2, 3, 4};
  std::swap(ranks[1][1][0], ranks[1][1][3]);
  check_comparison(check, ranks, 1, 1);
}

void check_first_of_several(Check& check) {
  std::vector<Tensors> ranks = replicas(check.seed(), 4, {3, 6, 2, 9});
  ranks[1][3][0] += 1;
  ranks[3][1][5] += 1;
  ranks[2][1][0] += 1;
  check_comparison(check, ranks, 1, 2);
}

// Outliers come alone in step 2 (rank 1's loss exceeds the limit, the mean over all ranks does not), and large in step
// 4 (the mean exceeds it, too, rank 0's own loss does not).
DriftRun make_run(const DriftSettings& settings, std::uint64_t seed) {
  const auto samples = static_cast<std::size_t>(settings.steps * settings.world_size * kDriftSamples);
  DriftRun run{settings,
               seed + 5,
               random_floats(seed, 1, samples * kDriftFeatures),
               random_floats(seed, 2, samples),
               random_floats(seed, 3, kDriftFeatures),
               std::vector<float>(kDriftFeatures)};
  const auto target_of_rank_1 = [&](std::size_t step) -> float& {
    return run.targets[(step * static_cast<std::size_t>(settings.world_size) + 1) * kDriftSamples];
  };
  for (std::size_t i = 0; i < run.inputs.size(); ++i) run.inputs[i] += static_cast<float>(i % kDriftFeatures);
  if (settings.has_outliers) {
    target_of_rank_1(2) = 90;
    target_of_rank_1(4) = 400;
  }
  if (settings.meets_limit) {  // an error of 6 in each of 3 samples: 6 * 6 / 2 / 3 is a whole number
    std::ranges::fill(run.weight, 0.0F);
    std::ranges::fill(run.targets, 6.0F);
  }
  return run;
}

nlohmann::json question_of(const DriftRun& run, int rank) {
  std::vector<float> inputs, targets;
  for (std::int64_t step = 0; step < run.settings.steps; ++step) {
    const auto first = (step * run.settings.world_size + rank) * kDriftSamples;
    const auto width = static_cast<std::int64_t>(kDriftFeatures);
    inputs.insert(inputs.end(), run.inputs.begin() + first * width,
                  run.inputs.begin() + (first + kDriftSamples) * width);
    targets.insert(targets.end(), run.targets.begin() + first, run.targets.begin() + first + kDriftSamples);
  }
  return {{"what", "train"},
          {"weight", to_message(std::span(run.weight))},
          {"running_mean", to_message(std::span(run.running_mean))},
          {"inputs", to_message(std::span<const float>(inputs))},
          {"targets", to_message(std::span<const float>(targets))},
          {"samples", kDriftSamples},
          {"steps", run.settings.steps},
          {"seed", run.seed},
          {"learning_rate", run.settings.learning_rate},
          {"noise", run.settings.noise},
          {"loss_limit", run.settings.loss_limit}};
}

// The findings of the learner's own check, and whether it has found all.
void check_drift(Check& check, const DriftRun& run, const Outcome& outcome) {
  const std::vector<std::int64_t> drifts = check.numbers<std::int64_t>(outcome, 0, "drifts");
  for (std::size_t step = 0; 2 * step < drifts.size(); ++step)
    if (drifts[2 * step] >= 0)
      check.wrong(concat("after ", step + 1, " of ", run.settings.steps, " steps your find_drift() names ",
                         name_of_tensor(drifts[2 * step]), " of rank ", drifts[2 * step + 1]),
                  "find the value in train_step() that goes into it and is not the same on all ranks");
  for (int rank = 1; rank < run.settings.world_size; ++rank)
    for (const char* tensor : {"weight", "running_mean"})
      check.expect(check.numbers<float>(outcome, 0, tensor) == check.numbers<float>(outcome, rank, tensor),
                   concat(tensor, " of rank ", rank, " is not rank 0's, and find_drift() has not noticed"));
}

void check_training(Check& check, const DriftSettings& settings, TrialOptions options = {}) {
  const DriftRun run = make_run(settings, check.seed());
  options.world_size = settings.world_size;
  options.question = [&](int rank) { return question_of(run, rank); };
  const Outcome& outcome = check.run(options);
  require_awaited(check, outcome, settings.world_size);
  check_drift(check, run, outcome);
  const DriftedAlone expected = train_alone(run);
  const auto explain = [](const char* what) {
    return [what](std::size_t, double, double) {
      return concat("equal on all ranks, but not what a single process with all samples gets: ", what);
    };
  };
  // Steps round values of at most about 10 by half an ulp, 5e-7, some ten times each, and errors shrink from step to
  // step.
  ArrayKnowledge of_mean, of_weight;
  for (const WrongStep& wrong : kWrongSteps) {
    of_mean.formulas.push_back({wrong.what, [&] { return train_alone(run, wrong).running_mean; }});
    of_weight.formulas.push_back({wrong.what, [&] { return train_alone(run, wrong).weight; }});
  }
  check.compare("running_mean", check.numbers<float>(outcome, 0, "running_mean"), expected.running_mean,
                {.absolute = 2e-5, .explain = explain("whose inputs does it follow?"), .knowledge = of_mean});
  check.compare("weight", check.numbers<float>(outcome, 0, "weight"), expected.weight,
                {.relative = 2e-5,
                 .absolute = 5e-5,
                 .explain = explain("is it the running mean, the gradient, the noise, or whether the step is made?"),
                 .knowledge = of_weight});
  // Last: if ranks decide by their own losses, find_drift() must be the one to say so.
  for (int rank = 0; settings.has_outliers && rank < settings.world_size; ++rank)
    check.compare(concat("the losses that train_step() returned on rank ", rank),
                  check.numbers<float>(outcome, rank, "losses"), expected.losses,
                  {.relative = 1e-4, .absolute = 5e-5, .explain = [](std::size_t, double, double) {
                     return "it returns the mean over the samples of all ranks";
                   }});
}

}  // namespace checks_06_7

void judge_06_7(Examination& exam) {
  using namespace checks_06_7;
  exam.check("find_drift: equal replicas", [](Check& check) {
    check_comparison(check, replicas(check.seed(), 1, {3}), -1, -1);
    check_comparison(check, replicas(check.seed(), 3, {10, 1, 7}), -1, -1);
  });
  exam.check("find_drift: one element of one rank", [](Check& check) {
    std::vector<Tensors> ranks = replicas(check.seed(), 2, {4, 6, 2});
    ranks[1][1][4] += 0.5F;
    check_comparison(check, ranks, 1, 1);
  });
  exam.check("find_drift: a single bit", check_one_bit);
  exam.check("find_drift: equal sums", check_order);
  exam.check("find_drift: the first tensor, and the first rank", check_first_of_several);
  exam.check("find_drift: rank 0 is the one that has drifted", [](Check& check) {
    std::vector<Tensors> ranks = replicas(check.seed(), 4, {4, 6});
    ranks[0][1][2] += 0.5F;
    check_comparison(check, ranks, 1, 1);
  });
  exam.check("train_step: one rank", [](Check& check) { check_training(check, {.world_size = 1, .noise = 0.5}); });
  exam.check("train_step: 2 ranks, nothing special", [](Check& check) { check_training(check, {}); });
  exam.check("train_step: 3 ranks, with noise",
             [](Check& check) { check_training(check, {.world_size = 3, .noise = 0.5}); });
  exam.check("train_step: 4 ranks, with losses above the limit",
             [](Check& check) { check_training(check, {.world_size = 4, .loss_limit = 1000, .has_outliers = true}); });
  exam.check("train_step: a loss that is exactly the limit",
             [](Check& check) { check_training(check, {.steps = 1, .loss_limit = 18, .meets_limit = true}); });
  exam.full_check("train_step: 4 ranks, 100 steps of everything, the first rank late", [](Check& check) {
    check_training(check, {.world_size = 4, .steps = 100, .noise = 0.25, .loss_limit = 1000, .has_outliers = true},
                   {.delayed_rank = 0});
  });
}

}  // namespace lockstep::exercise
