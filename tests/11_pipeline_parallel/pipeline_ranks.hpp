#pragma once
/// @file
/// Trains a small GPT in one process, and with threads as the ranks of a pipeline.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "02_ring_all_reduce/ring_process_group.hpp"
#include "02_ring_all_reduce/shared_memory/shared_memory_process_group.hpp"
#include "10_tensor_parallel/gpt/tensor_step.hpp"
#include "11_pipeline_parallel/pipeline.hpp"
#include "autograd/autocast.hpp"
#include "nn/gpt.hpp"
#include "optim/adamw.hpp"
#include "optim/clip.hpp"
#include "run/step.hpp"
#include "support/run_ranks.hpp"

namespace lockstep::test {

inline constexpr int kSteps = 5;
inline constexpr std::int64_t kSamples = 8, kPositions = 8, kChannels = 24, kVocabulary = 61;

struct PipelineCase {
  pipeline::ScheduleKind kind = pipeline::ScheduleKind::kOneForwardOneBackward;
  int micro_batches = 1;  ///< kSamples need not be a multiple.
  bool activation_checkpointing = false;
  bool bf16 = false;
  bool over_tcp = false;

  [[nodiscard]] nn::GptConfig config() const {
    return {.name = "test",
            .vocabulary_size = kVocabulary,
            .channels = kChannels,
            .head_count = 2,
            .layer_count = 5,
            .context_length = kPositions,
            .batch_size = kSamples,
            .dropout = 0.1,
            .activation_checkpointing = activation_checkpointing};
  }
};

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
TrainedGpt train(const PipelineCase& test, nn::Module& model, auto&& gradients_of_step, auto&& clip, auto&& evaluate) {
  constexpr double kRate = 2e-3, kDecay = 0.1, kMaxNorm = 0.5;
  optim::AdamW optimizer(nn::weight_decay_groups(model, kDecay));
  TrainedGpt trained;
  for (int step = 0; step < kSteps; ++step) {
    const data::Batch batch = batch_of_step(step);
    optimizer.zero_grad();
    trained.losses.push_back(gradients_of_step(run::split_batch(batch, test.micro_batches, 5, step)));
    if (step == 0) trained.gradients = gradients_of(model);
    trained.norms.push_back(clip(kMaxNorm));
    optimizer.step(kRate);
  }
  const autograd::NoGradGuard no_grad;
  for (int step = 0; step < 2; ++step) trained.evaluation += evaluate(batch_of_step(kSteps + step));
  trained.values = values_of(model);
  return trained;
}

inline TrainedGpt train_whole(const PipelineCase& test) {
  const autograd::Autocast autocast(test.bf16);
  nn::Gpt model(test.config(), 7);
  const auto gradients_of_step = [&](const std::vector<run::MicroBatch>& micro_batches) {
    double mean = 0;
    for (const run::MicroBatch& part : micro_batches) {
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
  return train(test, model, gradients_of_step, clip, evaluate);
}

/// On one rank. The last stage's table holds other values at first: only those of the owner may count.
inline TrainedGpt train_stage(pipeline::Group& group, const PipelineCase& test) {
  const autograd::Autocast autocast(test.bf16);
  const pipeline::BorrowingLayers layers;
  nn::GptPart model(test.config(), 7, pipeline::blocks_of(test.config(), group), layers);
  if (model.is_last() && !model.is_first()) std::ranges::fill(model.table().weight().value().span<float>(), 7.0F);
  pipeline::Pipeline stages(model, group, test.kind);
  std::vector<std::size_t> held;
  const auto gradients_of_step = [&](const std::vector<run::MicroBatch>& micro_batches) {
    const double mean = stages.run(micro_batches);
    held.push_back(stages.most_held());
    return mean;
  };
  const auto clip = [&](double max_norm) { return tensor_parallel::clip_grad_norm(model, group, max_norm); };
  const auto evaluate = [&](const data::Batch& batch) { return stages.sum(stages.loss(batch)); };
  TrainedGpt trained = train(test, model, gradients_of_step, clip, evaluate);
  trained.held = held;
  trained.bytes_sent = stages.bytes_sent();
  return trained;
}

/// By rank.
inline std::vector<TrainedGpt> train_pipeline(int ranks, const PipelineCase& test) {
  return run_ranks_for<TrainedGpt>(ranks, [&](comm::JobContext job) {
    const auto group = test.over_tcp ? ring::make_ring_process_group(std::move(job))
                                     : ring::make_shared_memory_process_group(std::move(job));
    return train_stage(*group, test);
  });
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
