#pragma once
/// @file
/// The training run of exercise 06.2 as a single process makes it, right or with one mistake: the judge compares it
/// with what a learner's ranks have made together.
#include <cstdint>
#include <span>
#include <vector>

#include "06_gpt_ddp/2_five_changes/five_changes.hpp"

namespace lockstep::exercise {

/// A training run; `options.initial_parameters` are rank 0's.
struct TrainerCase {
  int world_size = 1;
  ddp::Dataset data;
  ddp::TrainOptions options;
  bool tells_ranks_apart = false;  // rank r's targets are 8^r times those of the data
};

/// The results of a single process with the whole batch, in double precision.
struct TrainedAlone {
  std::vector<double> parameters, losses, later_losses;  // losses before each step, and after it
};

/// A trainer whose author has made one mistake, which needs no second rank to be seen.
struct WrongTrainer {
  const char* what = "";
  int epoch_offset = 0;       // of what is passed to set_epoch()
  bool only_rank_0 = false;   // is told the epoch
  bool same_epoch = false;    // whatever the epoch is
  double share_of_batch = 0;  // by which the gradient is divided once more; 0: it is not
  double share_of_ranks = 0;  // as above
  bool in_blocks = false;     // each rank has a contiguous part of the epoch's order
  double direction = 1;       // of a step
};

inline constexpr WrongTrainer kWrongTrainers[] = {
    {.what = "set_epoch() is called with epoch + 1: epochs count from 0", .epoch_offset = 1},
    {.what = "every epoch has the order of the first one: is set_epoch() called at the start of each?",
     .same_epoch = true},
    {.what = "set_epoch() is called after indices(), so that it acts one epoch later", .epoch_offset = -1},
    {.what = "only rank 0 calls set_epoch()", .only_rank_0 = true},
    {.what = "the gradient is divided by batch_size: loss_and_gradient() has divided by the samples already",
     .share_of_batch = 1},
    {.what = "the gradient is divided by the number of ranks twice", .share_of_ranks = 1},
    {.what = "each rank takes a contiguous part of the epoch, so the batches are not those of a single process",
     .in_blocks = true},
    {.what = "the step goes up the gradient instead of down", .direction = -1},
};

/// The order in which all ranks together use the samples of an epoch.
inline std::vector<std::int64_t> order_of(const TrainerCase& run, int epoch, const WrongTrainer& wrong) {
  ddp::RandomSampler sampler(run.data.sample_count, run.options.seed);
  std::vector<std::int64_t> order;
  const std::vector<std::int64_t> first = order = sampler.indices();
  for (int e = 1; e <= (wrong.same_epoch ? 0 : epoch) + wrong.epoch_offset; ++e) order = sampler.indices();
  for (std::size_t i = 0; i < order.size() && wrong.only_rank_0; ++i)
    if (i % static_cast<std::size_t>(run.world_size) != 0) order[i] = first[i];
  if (!wrong.in_blocks) return order;
  const auto ranks = static_cast<std::size_t>(run.world_size), each = order.size() / ranks;
  std::vector<std::int64_t> blocks;
  for (std::size_t i = 0; i < each * ranks; ++i) blocks.push_back(order[i % ranks * each + i / ranks]);
  return blocks;
}

inline TrainedAlone train_alone(const TrainerCase& run, const WrongTrainer& wrong = {}) {
  TrainedAlone expected;
  expected.parameters.assign(run.options.initial_parameters.begin(), run.options.initial_parameters.end());
  const std::size_t features = expected.parameters.size();
  double rate = wrong.direction * run.options.learning_rate;
  if (wrong.share_of_batch != 0) rate /= static_cast<double>(run.options.batch_size);
  if (wrong.share_of_ranks != 0) rate /= run.world_size;
  const auto error_of = [&](std::int64_t sample) {
    const auto x = std::span(run.data.features).subspan(static_cast<std::size_t>(sample) * features, features);
    double error = -run.data.targets[static_cast<std::size_t>(sample)];
    for (std::size_t i = 0; i < features; ++i) error += expected.parameters[i] * x[i];
    return error;
  };
  const auto loss_of = [&](std::span<const std::int64_t> batch) {
    double loss = 0;
    for (const std::int64_t sample : batch) loss += error_of(sample) * error_of(sample) / 2;
    return loss / static_cast<double>(batch.size());
  };
  for (int epoch = 0; epoch < run.options.epochs; ++epoch) {
    for (const auto& batch : ddp::batches_of(order_of(run, epoch, wrong), run.options.batch_size)) {
      std::vector<double> gradient(features);
      for (const std::int64_t sample : batch) {
        const double error = error_of(sample);
        for (std::size_t i = 0; i < features; ++i)
          gradient[i] += error * run.data.features[static_cast<std::size_t>(sample) * features + i];
      }
      expected.losses.push_back(loss_of(batch));
      for (std::size_t i = 0; i < features; ++i)
        expected.parameters[i] -= rate * gradient[i] / static_cast<double>(batch.size());
      expected.later_losses.push_back(loss_of(batch));
    }
  }
  return expected;
}

}  // namespace lockstep::exercise
