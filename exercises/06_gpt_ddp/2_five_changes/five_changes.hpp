#pragma once
/// @file
/// Given: what the trainer of exercise 06.2 is made of: data, samplers, a model, and the world outside.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/philox.hpp"
#include "exercise/collectives.hpp"
#include "exercise/todo.hpp"

namespace lockstep::ddp {

using exercise::Collectives;

/// Samples with a target each; the same on all ranks.
struct Dataset {
  std::int64_t sample_count;    ///< At least 1.
  std::int64_t feature_count;   ///< At least 1.
  std::vector<float> features;  ///< [sample_count, feature_count]
  std::vector<float> targets;   ///< [sample_count]
};

/// How to train; the same on all ranks, except where it says otherwise.
struct TrainOptions {
  std::vector<float> initial_parameters;  ///< [feature_count]; each process has drawn its own at random.
  std::int64_t batch_size = 1;            ///< Samples per step on all ranks together. Divides sample_count, and the
                                          ///< number of ranks divides it.
  int epochs = 1;                         ///< Passes over the data.
  std::uint64_t seed = 0;                 ///< For the order of the samples.
  float learning_rate = 0.1F;             ///< How far a step goes.
};

/// All samples in random order, a new order for each epoch.
class RandomSampler {
 public:
  /// @param sample_count  In the dataset. @param seed  The orders depend on nothing else.
  RandomSampler(std::int64_t sample_count, std::uint64_t seed) : sample_count_(sample_count), seed_(seed) {}

  /// The order of the next epoch: each call returns a new one.
  [[nodiscard]] std::vector<std::int64_t> indices() { return order_of(epoch_++); }

 protected:
  /// The numbers 0 to sample_count - 1 in the random order of an epoch.
  [[nodiscard]] std::vector<std::int64_t> order_of(std::int64_t epoch) const {
    std::vector<std::int64_t> order(static_cast<std::size_t>(sample_count_));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    PhiloxSequence random(seed_, static_cast<std::uint64_t>(epoch));
    for (std::size_t left = order.size(); left > 1; --left) std::swap(order[left - 1], order[random.next_below(left)]);
    return order;
  }

 private:
  std::int64_t sample_count_;
  std::uint64_t seed_;
  std::int64_t epoch_ = 0;
};

/// One rank's share of an epoch: the positions rank, rank + world_size, rank + 2 * world_size and so on of the order
/// that a RandomSampler with the same seed has in this epoch. Exercise 06.1 is about it.
class DistributedSampler : private RandomSampler {
 public:
  /// @param rank  In [0, world_size). @param world_size  Ranks that share the samples. Otherwise as above.
  DistributedSampler(std::int64_t sample_count, int rank, int world_size, std::uint64_t seed)
      : RandomSampler(sample_count, seed), rank_(rank), world_size_(world_size) {}

  /// Chooses the epoch for indices(); 0 at the beginning.
  void set_epoch(std::int64_t epoch) noexcept { epoch_ = epoch; }

  /// This rank's samples in the chosen epoch: each call returns the same ones until set_epoch().
  [[nodiscard]] std::vector<std::int64_t> indices() const {
    const std::vector<std::int64_t> order = order_of(epoch_);
    std::vector<std::int64_t> own;
    for (auto position = static_cast<std::size_t>(rank_); position < order.size();
         position += static_cast<std::size_t>(world_size_))
      own.push_back(order[position]);
    return own;
  }

 private:
  int rank_, world_size_;
  std::int64_t epoch_ = 0;
};

/// Cuts a list of samples into batches of `batch_size`, which must divide its length.
/// @throws ContractError  batch_size is below 1.
[[nodiscard]] inline std::vector<std::vector<std::int64_t>> batches_of(const std::vector<std::int64_t>& samples,
                                                                       std::int64_t batch_size) {
  require(batch_size >= 1, "batches_of: a batch of ", batch_size, " samples");
  std::vector<std::vector<std::int64_t>> batches;
  for (auto begin = samples.begin(); begin < samples.end(); begin += batch_size)
    batches.emplace_back(begin, begin + std::min<std::ptrdiff_t>(batch_size, samples.end() - begin));
  return batches;
}

/// The result of backward.
struct LossAndGradient {
  float loss;                   ///< The mean over the batch of half the squared error.
  std::vector<float> gradient;  ///< [feature_count], of this mean.
};

/// Forward and backward of the model, a linear one: the prediction for a sample is the dot product of the parameters
/// with its features. @param batch  Numbers of samples; not empty.
[[nodiscard]] inline LossAndGradient loss_and_gradient(std::span<const float> parameters, const Dataset& data,
                                                       std::span<const std::int64_t> batch) {
  LossAndGradient result{0, std::vector<float>(parameters.size())};
  const auto count = static_cast<float>(batch.size());
  for (const std::int64_t sample : batch) {
    const auto features = std::span(data.features).subspan(static_cast<std::size_t>(sample) * parameters.size());
    float error = -data.targets[static_cast<std::size_t>(sample)];
    for (std::size_t i = 0; i < parameters.size(); ++i) error += parameters[i] * features[i];
    result.loss += error * error / 2 / count;
    for (std::size_t i = 0; i < parameters.size(); ++i) result.gradient[i] += error * features[i] / count;
  }
  return result;
}

/// The world outside: a terminal, and a file. All processes share them.
class Output {
 public:
  Output() = default;
  virtual ~Output() = default;
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  /// Prints a line. @param step  Counts from 1. @param loss  Before the step, the mean over the batch of all ranks.
  virtual void print(int step, float loss) = 0;
  /// Writes the file with the trained parameters.
  virtual void save(std::span<const float> parameters) = 0;
};

/// Trains on all ranks together. The result is that of a single process with the same batch size, up to rounding.
///
/// @param data, options  As described above. @param group  All ranks call this function together.
/// @param output  Rank 0 prints a line per step and saves the parameters once, at the end; other ranks do neither.
/// @return  The trained parameters: the same bits on all ranks.
[[nodiscard]] std::vector<float> train(const Dataset& data, const TrainOptions& options, Collectives& group,
                                       Output& output);

}  // namespace lockstep::ddp
