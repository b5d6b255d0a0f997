#pragma once
/// @file
/// Five steps of a small GPT in one process, and comparisons with them.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "autograd/autocast.hpp"
#include "autograd/functions.hpp"
#include "nn/gpt.hpp"
#include "optim/adamw.hpp"
#include "optim/clip.hpp"
#include "run/step.hpp"

namespace lockstep::test {

inline constexpr int kSteps = 5;
inline constexpr std::int64_t kSamples = 8, kPositions = 8, kChannels = 24, kVocabulary = 61;

using Elements = std::map<std::string, std::vector<float>>;  ///< By parameter.

struct TrainedGpt {
  std::vector<double> losses, norms;  ///< By step.
  Elements gradients;                 ///< Of the first step, before clipping.
  Elements values;                    ///< At the end.
  double evaluation = 0;              ///< At the end, without dropout.
  std::vector<std::size_t> held;      ///< Pipeline::most_held() by step.
  std::uint64_t bytes_sent = 0;
};

/// Of a text in which each token follows from the one before it.
inline data::Batch batch_of_step(int step) {
  std::vector<std::int32_t> inputs, targets;
  std::vector<std::int64_t> ids;
  const auto token = [](std::int64_t id, std::int64_t t) {
    return static_cast<std::int32_t>((id * 31 + t * t * 7 + t) % kVocabulary);
  };
  for (std::int64_t i = 0; i < kSamples; ++i) {
    ids.push_back(kSamples * step + i);
    for (std::int64_t t = 0; t < kPositions; ++t) {
      inputs.push_back(token(ids.back(), t));
      targets.push_back(token(ids.back(), t + 1));
    }
  }
  return {Tensor::from(std::span<const std::int32_t>(inputs), {kSamples, kPositions}),
          Tensor::from(std::span<const std::int32_t>(targets), {kSamples, kPositions}),
          Tensor::from(std::span<const std::int64_t>(ids), {kSamples})};
}

inline Elements gradients_of(const nn::Module& model) {
  Elements all;
  for (const nn::NamedParameter& named : model.named_parameters()) {
    const auto elements = named.parameter.gradient().span<float>();
    all[named.name] = {elements.begin(), elements.end()};
  }
  return all;
}

inline Elements values_of(const nn::Module& model) {
  Elements all;
  for (const nn::NamedParameter& named : model.named_parameters()) {
    const auto elements = named.parameter.value().span<float>();
    all[named.name] = {elements.begin(), elements.end()};
  }
  return all;
}

/// kSteps steps. @param gradients_of_step  Takes the micro-batches, returns their mean loss. @param clip  As
/// optim::clip_grad_norm(). @param evaluate  Takes a batch.
TrainedGpt train(int micro_batches, nn::Module& model, auto&& gradients_of_step, auto&& clip, auto&& evaluate) {
  constexpr double kRate = 2e-3, kDecay = 0.1, kMaxNorm = 0.5;
  optim::AdamW optimizer(nn::weight_decay_groups(model, kDecay));
  TrainedGpt trained;
  for (int step = 0; step < kSteps; ++step) {
    const data::Batch batch = batch_of_step(step);
    optimizer.zero_grad();
    trained.losses.push_back(gradients_of_step(run::split_batch(batch, micro_batches, 5, step)));
    if (step == 0) trained.gradients = gradients_of(model);
    trained.norms.push_back(clip(kMaxNorm));
    optimizer.step(kRate);
  }
  const autograd::NoGradGuard no_grad;
  for (int step = 0; step < 2; ++step) trained.evaluation += evaluate(batch_of_step(kSteps + step));
  trained.values = values_of(model);
  return trained;
}

/// In one process.
inline TrainedGpt train_whole(const nn::GptConfig& config, int micro_batches, bool bf16 = false) {
  const autograd::Autocast autocast(bf16);
  nn::Gpt model(config, 7);
  const auto gradients_of_step = [&](const std::vector<run::MicroBatch>& parts) {
    double mean = 0;
    for (const run::MicroBatch& part : parts) {
      const autograd::Variable loss = model.loss(part.inputs, part.targets, part.context);
      mean += part.weight * loss.value().item();
      loss.backward(part.weight);
    }
    return mean;
  };
  const auto clip = [&](double max_norm) { return optim::clip_grad_norm(model.parameters(), max_norm); };
  const auto evaluate = [&](const data::Batch& batch) {
    return model.loss(batch.inputs, batch.targets).value().item();
  };
  return train(micro_batches, model, gradients_of_step, clip, evaluate);
}

/// The largest difference, relative to the largest of the `expected` elements.
inline double difference(const std::vector<float>& found, const std::vector<float>& expected) {
  if (found.size() != expected.size()) return INFINITY;
  double largest = 0, scale = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double apart = std::abs(static_cast<double>(found[i]) - static_cast<double>(expected[i]));
    largest = std::isnan(apart) ? INFINITY : std::max(largest, apart);
    scale = std::max(scale, std::abs(static_cast<double>(expected[i])));
  }
  return largest / scale;
}

}  // namespace lockstep::test
