#pragma once
/// @file
/// Trains a small GPT with threads as ranks, by DistributedDataParallel or by a stage of ShardedDataParallel.
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "02_ring_all_reduce/ring_process_group.hpp"
#include "02_ring_all_reduce/shared_memory/shared_memory_process_group.hpp"
#include "06_gpt_ddp/distributed_data_parallel.hpp"
#include "09_sharded/sharded_data_parallel.hpp"
#include "nn/gpt.hpp"
#include "optim/adamw.hpp"
#include "optim/clip.hpp"
#include "support/run_ranks.hpp"

namespace lockstep::test {

inline constexpr double kClip = 0.25;  ///< Below the norm of every step.

inline constexpr int kDistributed = 0;  ///< In the place of a stage.
enum class Link { kSharedMemory, kTcp };

struct TrainingCase {
  int world_size = 2;
  Link link = Link::kSharedMemory;
  int parts = 1;  ///< Micro-batches of a step.
  bool activation_checkpointing = false;
  int empty_rank = -1;  ///< In the last step this rank has no data; -1: none.
  bool prefetch = true;
};

struct TrainedGpt {
  std::vector<double> losses, norms;  ///< By step.
  std::vector<float> values;          ///< Of all parameters, at the end.
  std::int64_t moment_elements = 0;   ///< That this rank holds.
  std::size_t most_alive = 0;         ///< Units.
};

inline nn::GptConfig small_gpt() {
  return {.name = "test",
          .vocabulary_size = 61,
          .channels = 24,
          .head_count = 2,
          .layer_count = 3,
          .context_length = 8,
          .batch_size = 8,
          .dropout = 0.1};
}

inline std::unique_ptr<comm::ProcessGroup> make_link(comm::JobContext context, Link link) {
  if (link == Link::kTcp) return ring::make_ring_process_group(std::move(context));
  return ring::make_shared_memory_process_group(std::move(context));
}

/// Tokens of a sample, and the ones that follow them.
inline data::Batch batch_with(const std::vector<std::int64_t>& ids) {
  const std::int64_t context = small_gpt().context_length;
  std::vector<std::int32_t> inputs, targets;
  const auto token = [](std::int64_t id, std::int64_t t) {
    return static_cast<std::int32_t>((id * 31 + t * t * 7 + t) % 61);
  };
  for (const std::int64_t id : ids) {
    for (std::int64_t t = 0; t < context; ++t) {
      inputs.push_back(token(id, t));
      targets.push_back(token(id, t + 1));
    }
  }
  const auto count = static_cast<std::int64_t>(ids.size());
  return {Tensor::from(std::span<const std::int32_t>(inputs), {count, context}),
          Tensor::from(std::span<const std::int32_t>(targets), {count, context}),
          Tensor::from(std::span<const std::int64_t>(ids), {count})};
}

struct TrainingPart {
  data::Batch batch;
  nn::ForwardContext context;
  double weight = 1;
};

/// This rank's share of a step's twelve samples, in parts.
inline std::vector<TrainingPart> parts_of_step(const TrainingCase& test, int step, int rank) {
  std::vector<TrainingPart> parts;
  const int share = 12 / test.world_size / test.parts;
  for (int p = 0; p < test.parts; ++p) {
    std::vector<std::int64_t> ids;
    for (int i = 0; i < share; ++i) ids.push_back(12 * step + (p * share + i) * test.world_size + rank);
    parts.push_back({batch_with(ids), {.is_training = true, .seed = 5, .step = step}, 1.0 / test.parts});
  }
  for (TrainingPart& part : parts) part.context.sample_ids = part.batch.sample_ids.span<std::int64_t>();
  return parts;
}

inline std::vector<float> values_of(const nn::Module& model) {
  std::vector<float> all;
  for (const autograd::Variable& parameter : model.parameters()) {
    const auto values = parameter.value().span<float>();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

inline std::int64_t elements_in(const optim::Optimizer& optimizer) {
  std::int64_t count = 0;
  for (const optim::NamedTensor& named : optimizer.state()) count += named.tensor.count();
  return count;
}

/// Four steps on this rank. Values differ among ranks at the start: the wrapper has to make them equal.
/// @param stage  Of ZeRO, or kDistributed.
inline TrainedGpt train_gpt(comm::JobContext job, const TrainingCase& test, int stage) {
  constexpr double kDecay = 0.5, kRate = 0.01;
  const int rank = job.rank;
  const auto group = make_link(std::move(job), test.link);
  nn::GptConfig config = small_gpt();
  config.activation_checkpointing = test.activation_checkpointing;
  nn::Gpt model(config, 7 + static_cast<std::uint64_t>(rank));
  std::optional<ddp::DistributedDataParallel> distributed;
  std::optional<sharded::ShardedDataParallel> sharded;
  const bool is_sharded = stage != kDistributed;
  if (is_sharded) {
    sharded.emplace(model, *group, sharded::ShardOptions{.stage = stage, .prefetch = test.prefetch});
  } else {
    distributed.emplace(model, *group);
  }
  ddp::StepProtocol& steps = is_sharded ? static_cast<ddp::StepProtocol&>(*sharded) : *distributed;
  const nn::Module& updated = is_sharded ? sharded->shards() : model;
  optim::AdamW optimizer(nn::weight_decay_groups(updated, kDecay));

  TrainedGpt trained;
  trained.moment_elements = elements_in(optimizer);
  for (int step = 0; step < 4; ++step) {
    std::vector<TrainingPart> parts = parts_of_step(test, step, rank);
    if (step == 3 && rank == test.empty_rank) parts.clear();
    optimizer.zero_grad();
    double mean_loss = 0;
    for (const TrainingPart& part : steps.accumulate(parts)) {
      const autograd::Variable loss = model.loss(part.batch.inputs, part.batch.targets, part.context);
      mean_loss += part.weight * loss.value().item();
      loss.backward(part.weight);
    }
    trained.norms.push_back(is_sharded ? sharded->clip_grad_norm(kClip)
                                       : optim::clip_grad_norm(model.parameters(), kClip));
    optimizer.step(kRate);
    if (is_sharded) sharded->gather_values();
    trained.losses.push_back(steps.average(mean_loss));
  }
  if (is_sharded) {
    const auto in_step = sharded->in_step();
    trained.values = values_of(model);
    trained.most_alive = sharded->most_alive();
  } else {
    trained.values = values_of(model);
  }
  return trained;
}

inline std::vector<TrainedGpt> train_on_ranks(const TrainingCase& test, int stage) {
  std::vector<TrainedGpt> trained(static_cast<std::size_t>(test.world_size));
  for (const RankOutcome& outcome : run_ranks(test.world_size, [&](comm::JobContext job) {
         const auto rank = static_cast<std::size_t>(job.rank);
         trained[rank] = train_gpt(std::move(job), test, stage);
       })) {
    if (outcome.error) std::rethrow_exception(outcome.error);
  }
  return trained;
}

}  // namespace lockstep::test
