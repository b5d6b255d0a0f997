#pragma once
/// @file
/// Ranks that have one part of a GPT each, and pass micro-batches through all of them.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "11_pipeline_parallel/gpt/gpt_stage.hpp"
#include "11_pipeline_parallel/schedules/schedule.hpp"
#include "11_pipeline_parallel/stage_link.hpp"
#include "data/dataset.hpp"
#include "nn/gpt_part.hpp"
#include "run/step.hpp"

namespace lockstep::pipeline {

/// The blocks of this rank's stage: of L blocks and p ranks L r/p to L (r+1)/p, so that stages differ by one block at
/// most. The last stage has the head besides, which with a large vocabulary takes as long as several blocks.
/// @param last_stage_blocks  Its blocks; the other stages divide the rest. 0: as many as others have.
[[nodiscard]] Range blocks_of(const nn::GptConfig& config, const Group& group, std::int64_t last_stage_blocks = 0);

/// One rank of a pipeline. All ranks read the same batches, make the same calls, and do the actions of their own lists.
///
/// A step leaves in each part's gradients what one process with the whole model would have: sums over the
/// micro-batches, by their weights. Values of all parts together, such as the norm, are still to be added up over
/// the ranks. Thread safety: none.
class Pipeline {
 public:
  /// Makes the links. Collective.
  /// @param part   With some blocks_of() this rank, made with BorrowingLayers. Must outlive this.
  /// @param group  The pipeline's ranks. Must outlive this.
  /// @throws ContractError  On all ranks: the parts do not follow one another, or are not the whole model.
  Pipeline(const nn::GptPart& part, Group& group, ScheduleKind kind);
  Pipeline(const Pipeline&) = delete;  // the stage refers to the links
  Pipeline& operator=(const Pipeline&) = delete;

  /// Forward and backward passes of a step, in the order of the schedule. Collective.
  /// @param micro_batches  At least one; the same on all ranks.
  /// @return  The mean loss by the weights of the micro-batches, on all ranks.
  /// @throws  As StageLink::receive().
  /// @cost    Each border of two stages: B T C elements in either direction for each micro-batch. Once a step the table
  ///          of tokens from the first stage to the last, and its gradient back.
  double run(std::span<const run::MicroBatch> micro_batches, const StageObserver& observer = {});

  /// The loss of a batch without dropout and gradients, in the last stage; 0 in the others, which may be ahead by a
  /// batch for each stage between. Collective.
  /// @pre  In a NoGradGuard.
  [[nodiscard]] double loss(const data::Batch& batch);
  /// The sum of all ranks' values, on all of them. Collective.
  [[nodiscard]] double sum(double value) const;

  /// Micro-batches that this rank kept at the same time in the last step, at most.
  [[nodiscard]] std::size_t most_held() const noexcept { return stage_.most_held(); }
  /// How long this rank was idle in the last step, waiting for other stages.
  [[nodiscard]] std::chrono::nanoseconds idle_time() const noexcept { return idle_; }
  /// Of activations, gradients and the table, by this rank, since the pipeline was made.
  [[nodiscard]] std::uint64_t bytes_sent() const;

 private:
  [[nodiscard]] double run_list(const Schedule& schedule, std::span<const run::MicroBatch> micro_batches,
                                const StageObserver& observer);

  Group& group_;
  ScheduleKind kind_;
  StageLinks links_;
  GptStage stage_;
  std::chrono::nanoseconds idle_{0};
};

}  // namespace lockstep::pipeline
