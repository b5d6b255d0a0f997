#pragma once
/// @file
/// The options of a training run on a grid of ranks, and its checkpoints.
#include <cstdint>
#include <functional>
#include <string>

#include "12_three_dimensions/gpt/grid_step.hpp"
#include "12_three_dimensions/rank_grid.hpp"
#include "data/sampler.hpp"
#include "optim/optimizer.hpp"
#include "run/run.hpp"
#include "run/train_options.hpp"

namespace lockstep::grid {

/// The options of train_gpt_3d. Ranks that neither --tensor nor --pipeline takes share the samples.
struct Options : run::TrainOptions {
  std::int64_t tensor = 1;                 ///< Ranks that divide each matrix.
  std::int64_t pipeline = 1;               ///< Ranks that divide the blocks.
  bool sequence_parallel = false;          ///< RowLayout::kDivided.
  std::string pipeline_schedule = "1f1b";  ///< One of pipeline::schedule_kinds().
  std::int64_t last_stage_blocks = 0;      ///< For pipeline::blocks_of().

  /// @throws UsageError  As shape_of().
  [[nodiscard]] GridShape shape(int world_size) const;
  [[nodiscard]] StepOptions step() const;
  /// Of this rank's stage.
  [[nodiscard]] Range blocks_of(const nn::GptConfig& config, const GridGroups& groups) const;
};

/// As list_options() of TrainOptions, with those of Options. They are not saved: a run may be resumed on another grid.
[[nodiscard]] run::OptionList list_options(Options& options);

/// As complete() of TrainOptions, for tensor_parallel::launched_ranks().
/// @throws UsageError  The ranks are no such grid, or cannot divide the model; an option that a grid does not support.
void complete(Options& options, const CommandLine& line);

/// As run::run_training(). If another rank has failed, the message says how this rank and that one are related.
/// @return  The exit status for main().
[[nodiscard]] int run_training(int argc, const char* const* argv,
                               const std::function<int(const Options&)>& train) noexcept;

/// The places of the grid that the options ask for. @param world  All its ranks.
[[nodiscard]] RankGrid places_of(const Options& options, const Group& world);

/// As run::Run::resume(), from a checkpoint of any program, on any grid: checkpoints have whole tensors, of which each
/// rank reads its own elements. Then the ranks gather the values. Collective.
/// @param optimizer  Over step.shards().
void resume(run::Run& run, GridStep& step, optim::Optimizer& optimizer, data::Sampler& sampler);

/// As run::Run::save(): whole tensors, as one process would save them. Each rank sends its own elements. Collective.
/// @param optimizer  Over step.shards().
void save(run::Run& run, const GridStep& step, const optim::Optimizer& optimizer, const data::Sampler& sampler);

}  // namespace lockstep::grid
