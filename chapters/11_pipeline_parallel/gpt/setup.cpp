#include "11_pipeline_parallel/gpt/setup.hpp"

#include <cstdint>
#include <utility>

#include "10_tensor_parallel/gpt/setup.hpp"
#include "base/command_line.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "run/option_parser.hpp"

namespace lockstep::pipeline {

run::OptionList list_options(Options& options) {
  return run::join({run::list_options(static_cast<run::TrainOptions&>(options)),
                    {{.field = &options.pipeline_schedule,
                      .name = "--pipeline-schedule",
                      .help = "Order of the micro-batches' passes: naive, gpipe or 1f1b; there are "
                              "--accumulation-steps micro-batches",
                      .check = one_of(schedule_kinds()),
                      .value_name = "NAME",
                      .kind = run::OptionKind::kLayout},
                     last_stage_option(options.last_stage_blocks)}});
}

run::OptionDeclaration last_stage_option(std::int64_t& blocks) {
  return {.field = &blocks,
          .name = "--last-stage-blocks",
          .help = "Blocks of the last stage, which computes the head besides; 0: as many as the others have",
          .check = whole_number(0),
          .kind = run::OptionKind::kLayout};
}

std::string describe_pipeline(const std::string& schedule, std::int64_t last_stage_blocks) {
  return concat(", schedule ", schedule,
                last_stage_blocks > 0 ? concat(", ", counted(last_stage_blocks, "block"), " in the last stage") : "");
}

void require_enough_blocks(const nn::GptConfig& config, std::int64_t stages, std::int64_t last_stage_blocks) {
  const std::int64_t blocks = config.layer_count;
  if (stages > blocks)
    throw UsageError(concat(stages, " ranks in a pipeline for ", blocks, " blocks: every stage needs one; use at most ",
                            blocks, ", or a model with more blocks"));
  const std::int64_t most = blocks - (stages - 1);
  if (stages == 1 && last_stage_blocks > 0 && last_stage_blocks != blocks)
    throw UsageError(concat("--last-stage-blocks ", last_stage_blocks, ": a single stage has all ", blocks,
                            " blocks; take more stages, or leave the option out"));
  if (stages > 1 && last_stage_blocks > most)
    throw UsageError(concat("--last-stage-blocks ", last_stage_blocks, ": of ", blocks,
                            " blocks the other stages need ", stages - 1, "; take at most ", most));
}

void complete(Options& options, const CommandLine& line) {
  run::complete(static_cast<run::TrainOptions&>(options), line);
  options.data_ranks = 1;  // every rank reads the whole batch
  options.require_divisible_batch(options.data_ranks);
  tensor_parallel::refuse_data_parallelism(options, line);
  const int ranks = tensor_parallel::launched_ranks();
  require_enough_blocks(options.model.config(options.data.vocabulary_size), ranks, options.last_stage_blocks);
  options.division =
      concat("pipeline ", ranks, describe_pipeline(options.pipeline_schedule, options.last_stage_blocks));
}

int run_training(int argc, const char* const* argv, const std::function<int(const Options&)>& train) noexcept {
  Options defaults;
  defaults.device.name = run::launched_device(std::move(defaults.device.name));
  return run::run_training(argc, argv, "Trains a GPT on a text, with the blocks divided among the ranks", defaults,
                           train);
}

}  // namespace lockstep::pipeline
