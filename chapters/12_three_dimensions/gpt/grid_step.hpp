#pragma once
/// @file
/// A training step of ranks that divide a model in three ways: chapters 09, 10 and 11 at once.
#include <chrono>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "09_sharded/setup.hpp"
#include "09_sharded/sharded_data_parallel.hpp"
#include "10_tensor_parallel/gpt/tensor_layers.hpp"
#include "11_pipeline_parallel/pipeline.hpp"
#include "12_three_dimensions/grid_groups.hpp"
#include "data/dataset.hpp"
#include "nn/gpt_part.hpp"
#include "run/step.hpp"
#include "tensor/named_part.hpp"

namespace lockstep::grid {

using tensor_parallel::RowLayout;

/// The layers of a part: chapter 10's, each cut, and around them chapter 11's, whose last stage borrows its token
/// table.
class GridLayers final : public pipeline::BorrowingLayers {
 public:
  /// @param tensor  Must outlive the model.
  GridLayers(Group& tensor, RowLayout rows) : BorrowingLayers(cut_), cut_(tensor, rows) {}

 private:
  tensor_parallel::TensorLayers cut_;
};

/// Data parallelism for parts whose layers are divided among tensor ranks. With RowLayout::kDivided, a tensor rank's
/// gradients of the norms are those of its own rows: they are summed over the tensor ranks first, and then averaged
/// over the data ranks with the unit that they are in.
class ShardedPart final : public sharded::ShardedDataParallel {
 public:
  /// Collective over both groups; part and groups must outlive this.
  ShardedPart(nn::GptPart& part, Group& data, Group& tensor, RowLayout rows)
      : ShardedDataParallel(part, data, {.stage = 1}), part_(part), tensor_(tensor), rows_(rows) {}

 protected:
  void launch(std::size_t unit) override;

 private:
  nn::GptPart& part_;
  Group& tensor_;
  RowLayout rows_;
};

/// The options of GridStep.
struct StepOptions {
  pipeline::ScheduleKind schedule = pipeline::ScheduleKind::kOneForwardOneBackward;
  RowLayout rows = RowLayout::kWhole;  ///< As the part's layers have it.
};

/// One rank of the grid, for a step after another. Order of calls, on all ranks: zero_grad of an optimizer over
/// shards(), run, clip_grad_norm if wanted, the optimizer's step, gather_values.
///
/// | axis     | what its ranks divide          | what they send each other in a step           |
/// |----------|--------------------------------|-----------------------------------------------|
/// | tensor   | each matrix of a layer         | activations and their gradients, in each layer |
/// | pipeline | the blocks                     | activations and their gradients, at a border  |
/// | data     | the samples; the optimizer's work and its memory | gradients, and back new values |
///
/// Thread safety: none.
class GridStep {
 public:
  /// Makes the links of the pipeline and the units of the data ranks. Collective.
  /// @param part    Blocks of this rank's stage (pipeline::blocks_of()), with GridLayers. Must outlive this, as `world`
  ///                and `groups` must.
  /// @param world   All ranks of the grid.
  GridStep(nn::GptPart& part, Group& world, const GridGroups& groups, const StepOptions& options = {});

  /// This rank's shards, for the optimizer.
  [[nodiscard]] const nn::Module& shards() const noexcept { return sharded_.shards(); }
  /// For checkpoints: the shards, and what this rank has of the frozen parameters, which are in no unit.
  [[nodiscard]] std::vector<NamedPart> parts() const { return sharded::parts_of(sharded_, groups_.data->rank()); }

  /// Forward and backward passes of a step. Then the shards have their elements of the gradients that one process would
  /// have for all samples.
  /// @param micro_batches  At least one; equal on ranks with the same place on the data axis. All of these places have
  ///                       as many samples.
  /// @return  The mean loss of all samples, the same on all ranks.
  double run(std::span<const run::MicroBatch> micro_batches, const pipeline::StageObserver& observer = {});

  /// The norm of the gradients of all ranks, each element counted once, on its owner; then scales them as
  /// optim::clip_to(). @return  The norm before clipping, the same on all ranks.
  double clip_grad_norm(double max_norm);

  /// After the optimizer's step: data ranks get the elements that the others have updated.
  void gather_values() { sharded_.gather_values(); }

  /// The loss of a batch without dropout and gradients, on ranks of the last stage; 0 on the others.
  /// @pre  In a NoGradGuard.
  [[nodiscard]] double loss(const data::Batch& batch) { return pipeline_.loss(batch); }
  /// Several ranks compute a sample's loss. One of them counts it: a sum over all ranks then has each sample once.
  [[nodiscard]] bool counts_samples() const { return part_.is_last() && groups_.tensor->rank() == 0; }
  /// The same for run::Run::begin_step().
  [[nodiscard]] run::BatchOf batch_of() const {
    return counts_samples() ? run::BatchOf::kThisRank : run::BatchOf::kCountedElsewhere;
  }

  /// Compares the values of data ranks, which have the same: ddp::require_equal_parameters(). Collective.
  void require_equal_replicas(std::string_view when) const;

  /// How long this rank was idle in the last step: it waited for another stage, or for gradients.
  [[nodiscard]] std::chrono::nanoseconds idle_time() const {
    return pipeline_.idle_time() + sharded_.exposed_communication();
  }
  [[nodiscard]] const pipeline::Pipeline& pipeline() const noexcept { return pipeline_; }

 private:
  const nn::GptPart& part_;
  Group& world_;
  const GridGroups& groups_;
  ShardedPart sharded_;
  pipeline::Pipeline pipeline_;
};

/// Ranks with the same place on the data axis have parts of one model, and compute the same samples. Collective.
/// @param world  All ranks of the grid.
/// @throws MismatchError  On all ranks: names those that have other samples than most ranks of their model, with their
///                        places and groups.
/// @cost   One all-reduce of 8 bytes a rank, and a pass over the batch.
void require_same_samples(const data::Batch& batch, Group& world, const RankGrid& grid);

}  // namespace lockstep::grid
