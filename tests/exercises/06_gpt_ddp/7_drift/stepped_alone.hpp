#pragma once
/// @file
/// The steps of exercise 06.7 as a single process takes them, right or with one mistake: the judge compares them with
/// what a learner's ranks have made together.
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/philox.hpp"

namespace lockstep::exercise {

inline constexpr std::size_t kDriftFeatures = 4;
inline constexpr std::int64_t kDriftSamples = 3;  // per rank and step

/// A training run of exercise 06.7.
struct DriftSettings {
  int world_size = 2;
  std::int64_t steps = 10;
  double noise = 0, loss_limit = 1e9;
  double learning_rate = 0.0625;
  bool has_outliers = false;  // targets for which some losses exceed the limit
  bool meets_limit = false;   // all losses of the first step are exactly 18
};

/// Inputs and targets of all ranks: of step s and rank r from (s * world_size + r) * kDriftSamples on.
struct DriftRun {
  DriftSettings settings;
  std::uint64_t seed = 0;
  std::vector<float> inputs, targets, weight, running_mean;
};

/// The final state of a single process, and its loss in each step.
struct DriftedAlone {
  std::vector<double> weight, running_mean, losses;
};

/// A train_step() whose ranks agree, and are wrong all the same.
struct WrongStep {
  const char* what = "";  // continues "that is what comes out if "
  bool mean_of_rank_0 = false, sum_of_means = false, mean_after_gradient = false;
  bool no_noise = false, mean_of_noises = false, same_noise = false;
  bool no_limit = false, limit_for_sum = false, limit_for_largest = false, limit_for_rank_0 = false,
       limit_is_too_much = false, means_are_late = false;
};

inline constexpr WrongStep kWrongSteps[] = {
    {.what = "the running mean follows the inputs of rank 0 alone", .mean_of_rank_0 = true},
    {.what = "the running mean follows the sum of the ranks' means", .sum_of_means = true},
    {.what = "the running mean that the gradient is computed with is that of before the step",
     .mean_after_gradient = true},
    {.what = "each rank computes its gradient with the mean of its own inputs, and the running means are averaged "
             "afterwards",
     .means_are_late = true},
    {.what = "the noise has been taken out", .no_noise = true},
    {.what = "each rank draws noise of its own, and the noises are averaged: a single process draws once",
     .mean_of_noises = true},
    {.what = "every step has the same noise", .same_noise = true},
    {.what = "no step is left out, whatever its loss", .no_limit = true},
    {.what = "the sum of the ranks' losses is compared with the limit, not their mean", .limit_for_sum = true},
    {.what = "the largest loss of a rank is compared with the limit, not the mean", .limit_for_largest = true},
    {.what = "rank 0's loss is compared with the limit, not the mean", .limit_for_rank_0 = true},
    {.what = "a step is left out if its loss equals the limit: it has to be larger", .limit_is_too_much = true},
};

/// A single process with the samples of all ranks, in double precision.
inline DriftedAlone train_alone(const DriftRun& run, const WrongStep& wrong = {}) {
  DriftedAlone state{{run.weight.begin(), run.weight.end()}, {run.running_mean.begin(), run.running_mean.end()}, {}};
  const auto samples = static_cast<std::size_t>(run.settings.world_size * kDriftSamples);
  for (std::size_t step = 0; step < static_cast<std::size_t>(run.settings.steps); ++step) {
    const auto inputs = std::span(run.inputs).subspan(step * samples * kDriftFeatures, samples * kDriftFeatures);
    std::vector<double> mean(kDriftFeatures), gradient(kDriftFeatures);
    const auto ranks = static_cast<double>(run.settings.world_size);
    const auto seen = wrong.mean_of_rank_0 ? inputs.first(kDriftSamples * kDriftFeatures) : inputs;
    for (std::size_t i = 0; i < seen.size(); ++i)
      mean[i % kDriftFeatures] +=
          (wrong.sum_of_means ? ranks : 1) * seen[i] / static_cast<double>(seen.size() / kDriftFeatures);
    const auto follow = [&] {
      for (std::size_t i = 0; i < kDriftFeatures; ++i)
        state.running_mean[i] = 0.9 * state.running_mean[i] + 0.1 * mean[i];
    };
    // With means_are_late: what each rank subtracts in this step.
    std::vector<std::vector<double>> of_ranks;
    for (std::int64_t rank = 0; wrong.means_are_late && rank < run.settings.world_size; ++rank) {
      std::vector<double> own(kDriftFeatures);
      const auto share = inputs.subspan(static_cast<std::size_t>(rank * kDriftSamples) * kDriftFeatures,
                                        static_cast<std::size_t>(kDriftSamples) * kDriftFeatures);
      for (std::size_t i = 0; i < share.size(); ++i) own[i % kDriftFeatures] += share[i] / double{kDriftSamples};
      for (std::size_t i = 0; i < kDriftFeatures; ++i) own[i] = 0.9 * state.running_mean[i] + 0.1 * own[i];
      of_ranks.push_back(own);
    }
    if (!wrong.mean_after_gradient) follow();
    std::vector<double> losses(static_cast<std::size_t>(run.settings.world_size));  // by rank
    double loss = 0;
    for (std::size_t sample = 0; sample < samples; ++sample) {
      double error = -run.targets[step * samples + sample];
      const auto centred = [&](std::size_t i) {
        const auto& subtracted = wrong.means_are_late ? of_ranks[sample / kDriftSamples] : state.running_mean;
        return inputs[sample * kDriftFeatures + i] - subtracted[i];
      };
      for (std::size_t i = 0; i < kDriftFeatures; ++i) error += state.weight[i] * centred(i);
      loss += error * error / 2 / static_cast<double>(samples);
      losses[sample / kDriftSamples] += error * error / 2 / static_cast<double>(kDriftSamples);
      for (std::size_t i = 0; i < kDriftFeatures; ++i) gradient[i] += error * centred(i) / static_cast<double>(samples);
    }
    state.losses.push_back(loss);
    if (wrong.mean_after_gradient) follow();
    double compared = wrong.limit_for_sum ? ranks * loss : wrong.limit_for_rank_0 ? losses.front() : loss;
    if (wrong.limit_for_largest) compared = *std::ranges::max_element(losses);
    const bool is_too_large =
        compared > run.settings.loss_limit || (wrong.limit_is_too_much && compared == run.settings.loss_limit);
    if (is_too_large && !wrong.no_limit) continue;
    std::vector<double> noise(kDriftFeatures);
    const int draws = wrong.mean_of_noises ? run.settings.world_size : 1;
    for (int draw = 0; draw < draws; ++draw) {
      PhiloxSequence random(run.seed + static_cast<std::uint64_t>(draw), wrong.same_noise ? 0 : step);
      for (double& value : noise) value += (double{uniform_float(random.next_word())} - 0.5) / draws;
    }
    for (std::size_t i = 0; i < kDriftFeatures; ++i)
      state.weight[i] -=
          run.settings.learning_rate * (gradient[i] + (wrong.no_noise ? 0 : run.settings.noise) * noise[i]);
  }
  return state;
}

}  // namespace lockstep::exercise
