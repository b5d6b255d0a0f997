#pragma once
/// @file
/// Given: the replica of exercise 06.7, its step as callers see it, and the check that its copies are equal.
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/philox.hpp"
#include "exercise/collectives.hpp"
#include "exercise/todo.hpp"

namespace lockstep::ddp {

using exercise::Collectives;

/// A number that depends on every bit of `values`: different values give different fingerprints, except with a
/// probability of about 2^-64.
[[nodiscard]] inline std::int64_t fingerprint(std::span<const float> values) {
  std::uint64_t hash = values.size();
  for (const float value : values) hash = mix64(hash, std::bit_cast<std::uint32_t>(value));
  return static_cast<std::int64_t>(hash);
}

/// The place where replicas differ.
struct Drift {
  std::size_t tensor;  ///< The first tensor that is not the same on all ranks.
  int rank;            ///< The lowest rank whose tensor is not equal to rank 0's.

  bool operator==(const Drift&) const = default;
};

/// Compares the tensors of all ranks bit for bit.
///
/// @param tensors  This rank's parameters and buffers; the same number on all ranks, in the same order.
/// @param group    All ranks call this function together.
/// @return  Nothing if all replicas are equal; else the same Drift on all ranks.
/// @cost    8 bytes per tensor from each rank, whatever the tensors' sizes.
[[nodiscard]] std::optional<Drift> find_drift(std::span<const std::span<const float>> tensors, Collectives& group);

/// This rank's copy of the model: it subtracts the mean of all inputs so far from an input, and predicts the dot
/// product of the difference and its weights.
struct Replica {
  std::vector<float> weight;        ///< [features], a parameter.
  std::vector<float> running_mean;  ///< [features], a *buffer*: state that is updated without a gradient.
};

/// This rank's share of a batch; the same number of samples on all ranks.
struct Share {
  std::vector<float> inputs;   ///< [samples, features]
  std::vector<float> targets;  ///< [samples]
};

/// The settings of one step, the same on all ranks.
struct StepOptions {
  std::uint64_t seed;   ///< For the noise of the whole training run.
  std::int64_t step;    ///< Number of the step; each step has its own noise.
  float learning_rate;  ///< How far a step goes.
  float noise;          ///< Size of the noise that is added to gradients to escape from bad minima; 0: none.
  float loss_limit;     ///< With a larger loss the weights stay as they are: something is wrong with the batch.
};

/// The mean of the inputs, [features].
[[nodiscard]] inline std::vector<float> mean_of_inputs(const Share& share, std::size_t features) {
  std::vector<float> mean(features);
  for (std::size_t i = 0; i < share.inputs.size(); ++i)
    mean[i % features] += share.inputs[i] / static_cast<float>(share.targets.size());
  return mean;
}

/// The result of backward.
struct LossAndGradient {
  float loss;                   ///< The mean over the samples of half the squared error.
  std::vector<float> gradient;  ///< [features], of `loss` with respect to the weights.
};

/// Forward and backward of a share. @pre  It has at least one sample.
[[nodiscard]] inline LossAndGradient loss_and_gradient(const Replica& replica, const Share& share) {
  const std::size_t features = replica.weight.size();
  LossAndGradient result{0, std::vector<float>(features)};
  const auto count = static_cast<float>(share.targets.size());
  for (std::size_t sample = 0; sample < share.targets.size(); ++sample) {
    const auto input = std::span(share.inputs).subspan(sample * features, features);
    float error = -share.targets[sample];
    for (std::size_t i = 0; i < features; ++i) error += replica.weight[i] * (input[i] - replica.running_mean[i]);
    result.loss += error * error / 2 / count;
    for (std::size_t i = 0; i < features; ++i)
      result.gradient[i] += error * (input[i] - replica.running_mean[i]) / count;
  }
  return result;
}

/// Trains for one step. The result is that of a single process with the samples of all ranks, up to rounding.
///
/// @param replica  Equal on all ranks before the step. @param share  This rank's samples. @param options  Of the step.
/// @param group    All ranks call this function together.
/// @return  The mean loss over the samples of all ranks.
/// @post    Equal on all ranks again, bit for bit. If that loss exceeds options.loss_limit, the weights are unchanged.
[[nodiscard]] float train_step(Replica& replica, const Share& share, const StepOptions& options, Collectives& group);

}  // namespace lockstep::ddp
