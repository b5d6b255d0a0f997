#pragma once
/// @file
/// What the tests of the accelerator share: a small model that is no GPT, samples for it, and a training loop.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "08_accelerate/accelerator.hpp"
#include "autograd/functions.hpp"
#include "base/philox.hpp"
#include "data/data_loader.hpp"
#include "data/sampler.hpp"
#include "data/tensor_dataset.hpp"
#include "nn/layers.hpp"
#include "optim/adamw.hpp"
#include "optim/schedule.hpp"
#include "support/catch.hpp"
#include "support/run_ranks.hpp"

namespace lockstep::test {

constexpr std::int64_t kInputs = 6, kOutputs = 3;

/// `count` samples, all different.
inline data::TensorDataset make_samples(std::int64_t count) {
  PhiloxSequence random(count);
  const Tensor features = Tensor::zeros({count, kInputs}), targets = Tensor::zeros({count}, DType::kInt32);
  for (float& value : features.span<float>()) value = uniform_float(random.next_word()) - 0.5F;
  for (std::int32_t& label : targets.span<std::int32_t>())
    label = static_cast<std::int32_t>(random.next_below(kOutputs));
  return {features, targets};
}

/// Everything that a training of an nn::Mlp needs, as it is written for one process.
struct Training {
  explicit Training(std::int64_t count, const data::DataLoaderOptions& options, Device device = {})
      : samples(make_samples(count)),
        sampler(count, 3),
        loader(samples, sampler, options),
        model(kInputs, 8, kOutputs, {5, device}),
        optimizer(model),
        schedule(optim::LinearDecay({.learning_rate = 1e-2, .total_steps = 40, .minimum = 1e-3})) {}

  [[nodiscard]] autograd::Variable loss_of(const data::Batch& batch) const {
    const Device device = model.parameters().front().value().device();
    return autograd::cross_entropy(model.forward(autograd::Variable(batch.inputs.to(device))),
                                   batch.targets.to(device));
  }

  data::TensorDataset samples;
  data::RandomSampler sampler;
  data::DataLoader loader;
  nn::Mlp model;
  optim::Adam optimizer;
  optim::Schedule schedule;
};

/// All parameters, one after the other.
inline std::vector<float> values_of(const nn::Module& model) {
  std::vector<float> all;
  for (const autograd::Variable& parameter : model.parameters()) {
    const Tensor host = parameter.value().to(Device{});
    for (const float value : host.span<float>()) all.push_back(value);
  }
  return all;
}

/// The largest difference of two lists of equal length; infinite if their lengths differ.
inline double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max<double>(largest, std::abs(a[i] - b[i]));
  return largest;
}

/// Runs the ranks and lets the test fail with the message of the first that threw.
inline void run_all(int world_size, const std::function<void(comm::JobContext)>& rank_main) {
  for (const RankOutcome& outcome : run_ranks(world_size, rank_main)) REQUIRE(outcome.message() == "");
}

}  // namespace lockstep::test
