#pragma once
/// @file
/// The options of a training run in a pipeline. Its checkpoints, its summary and the norm of its gradients are those of
/// any ranks that have parts of one model: 10_tensor_parallel/gpt/.
#include <cstdint>
#include <functional>
#include <string>

#include "11_pipeline_parallel/schedules/schedule.hpp"
#include "nn/gpt_config.hpp"
#include "run/train_options.hpp"

namespace lockstep::pipeline {

/// The options of train_gpt_pipeline. The micro-batches of a step are --accumulation-steps.
struct Options : run::TrainOptions {
  std::string pipeline_schedule = "1f1b";  ///< One of schedule_kinds().
  std::int64_t last_stage_blocks = 0;      ///< For blocks_of(); 0: as many as others have.

  [[nodiscard]] ScheduleKind schedule_kind() const { return parse_schedule_kind(pipeline_schedule); }
};

/// As list_options() of TrainOptions, with --pipeline-schedule. It is not saved: a run may be resumed with another one.
[[nodiscard]] run::OptionList list_options(Options& options);

/// The option for last_stage_blocks.
[[nodiscard]] run::OptionDeclaration last_stage_option(std::int64_t& blocks);

/// For a run's first lines, after the number of stages: ", schedule 1f1b, 2 blocks in the last stage".
[[nodiscard]] std::string describe_pipeline(const std::string& schedule, std::int64_t last_stage_blocks);

/// Before any rank begins: `lockstep launch` has the program check its options once.
/// @throws UsageError  A stage would have no block.
void require_enough_blocks(const nn::GptConfig& config, std::int64_t stages, std::int64_t last_stage_blocks);

/// As complete() of TrainOptions, for tensor_parallel::launched_ranks().
/// @throws  As require_enough_blocks() and tensor_parallel::refuse_data_parallelism().
void complete(Options& options, const CommandLine& line);

/// As run::run_training(). @return  The exit status for main().
[[nodiscard]] int run_training(int argc, const char* const* argv,
                               const std::function<int(const Options&)>& train) noexcept;

}  // namespace lockstep::pipeline
