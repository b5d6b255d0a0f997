#pragma once
/// @file
/// Trains a small GPT with threads as the ranks of a pipeline.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "02_ring_all_reduce/ring_process_group.hpp"
#include "02_ring_all_reduce/shared_memory/shared_memory_process_group.hpp"
#include "10_tensor_parallel/gpt/tensor_step.hpp"
#include "11_pipeline_parallel/pipeline.hpp"
#include "support/run_ranks.hpp"
#include "support/trained_gpt.hpp"

namespace lockstep::test {

struct PipelineCase {
  pipeline::ScheduleKind kind = pipeline::ScheduleKind::kOneForwardOneBackward;
  int micro_batches = 1;  ///< kSamples need not be a multiple.
  bool activation_checkpointing = false;
  bool bf16 = false;
  bool over_tcp = false;
  std::int64_t last_stage_blocks = 0;

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

inline TrainedGpt train_whole(const PipelineCase& test) {
  return train_whole(test.config(), test.micro_batches, test.bf16);
}

/// On one rank. The last stage's table holds other values at first: only those of the owner may count.
inline TrainedGpt train_stage(pipeline::Group& group, const PipelineCase& test) {
  const autograd::Autocast autocast(test.bf16);
  const pipeline::BorrowingLayers layers;
  nn::GptPart model(test.config(), 7, pipeline::blocks_of(test.config(), group, test.last_stage_blocks), layers);
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
  TrainedGpt trained = train(test.micro_batches, model, gradients_of_step, clip, evaluate);
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

}  // namespace lockstep::test
