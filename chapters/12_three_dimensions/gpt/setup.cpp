#include "12_three_dimensions/gpt/setup.hpp"

#include <climits>
#include <utility>

#include "10_tensor_parallel/gpt/setup.hpp"
#include "11_pipeline_parallel/gpt/setup.hpp"
#include "base/command_line.hpp"
#include "base/environment.hpp"
#include "base/error.hpp"
#include "comm/joining/job_environment.hpp"
#include "run/option_parser.hpp"

namespace lockstep::grid {
namespace {

using tensor_parallel::launched_ranks;

int launched_rank() { return comm::read_place(environment::get).rank.value_or(0); }

void refuse_other_exchanges(const Options& options) {
  if (options.parallel.no_sync)
    throw UsageError("--no-sync is for train_gpt_ddp: ranks with parts of one model cannot train without an exchange");
  if (options.parallel.compress_gradients != "no")
    throw UsageError("--compress-gradients is for train_gpt_ddp: a reduce-scatter sends float32");
  if (options.uneven)
    throw UsageError("--uneven is for the other trainers: in a grid every place on the data axis has as many samples");
}

// In the words of the program rank_grid.
std::string describe(const Options& options, const GridShape& shape) {
  std::string text = concat("pipeline ", shape.pipeline, " x data ", shape.data, " x tensor ", shape.tensor);
  if (shape.pipeline > 1) text += pipeline::describe_pipeline(options.pipeline_schedule, options.last_stage_blocks);
  return concat(text, options.sequence_parallel ? ", sequence parallel" : "");
}

}  // namespace

GridShape Options::shape(int world_size) const {
  return shape_of(world_size, static_cast<int>(tensor), static_cast<int>(pipeline));
}

StepOptions Options::step() const {
  return {.schedule = pipeline::parse_schedule_kind(pipeline_schedule),
          .rows = sequence_parallel ? RowLayout::kDivided : RowLayout::kWhole};
}

Range Options::blocks_of(const nn::GptConfig& config, const GridGroups& groups) const {
  return pipeline::blocks_of(config, *groups.pipeline, last_stage_blocks);
}

run::OptionList list_options(Options& options) {
  const auto ranks = whole_number(1, INT32_MAX);
  return run::join({run::list_options(static_cast<run::TrainOptions&>(options)),
                    {{.field = &options.tensor,
                      .name = "--tensor",
                      .help = "Ranks that divide each matrix of a layer: neighbours, on one host",
                      .check = ranks,
                      .kind = run::OptionKind::kLayout},
                     {.field = &options.pipeline,
                      .name = "--pipeline",
                      .help = "Ranks that divide the blocks. The product of --tensor and --pipeline divides the number "
                              "of ranks; all others share the samples",
                      .check = ranks,
                      .kind = run::OptionKind::kLayout},
                     {.field = &options.sequence_parallel,
                      .name = "--sequence-parallel",
                      .help = "Divide norms, dropout and the residual stream among the tensor ranks too, by rows",
                      .kind = run::OptionKind::kLayout},
                     {.field = &options.pipeline_schedule,
                      .name = "--pipeline-schedule",
                      .help = "Order of the micro-batches' passes: naive, gpipe or 1f1b; there are "
                              "--accumulation-steps micro-batches",
                      .check = one_of(pipeline::schedule_kinds()),
                      .value_name = "NAME",
                      .kind = run::OptionKind::kLayout},
                     pipeline::last_stage_option(options.last_stage_blocks)}});
}

void complete(Options& options, const CommandLine& line) {
  run::complete(static_cast<run::TrainOptions&>(options), line);
  refuse_other_exchanges(options);
  const GridShape shape = options.shape(launched_ranks());
  options.data_ranks = shape.data;
  options.require_divisible_batch(shape.data);  // here, before ranks wait for one another
  if (options.sequence_parallel && shape.tensor == 1)
    throw UsageError("--sequence-parallel is for ranks that divide matrices: add --tensor 2");
  const nn::GptConfig config = options.model.config(options.data.vocabulary_size);
  tensor_parallel::require_divisible_model(config, shape.tensor, options.step().rows);
  pipeline::require_enough_blocks(config, shape.pipeline, options.last_stage_blocks);
  options.division = describe(options, shape);
}

int run_training(int argc, const char* const* argv, const std::function<int(const Options&)>& train) noexcept {
  const std::function<int(const Options&)> run = [&](const Options& options) {
    try {
      return train(options);
    } catch (...) {
      const int ranks = launched_ranks();
      rethrow_with_place(RankGrid(options.shape(ranks), launched_rank(), ranks));
    }
  };
  Options defaults;
  defaults.device.name = run::launched_device(std::move(defaults.device.name));
  return run::run_training(argc, argv, "Trains a GPT on a text, with model and samples divided among the ranks",
                           defaults, run);
}

RankGrid places_of(const Options& options, const Group& world) {
  return {options.shape(world.world_size()), world.rank(), world.world_size()};
}

void resume(run::Run& run, GridStep& step, optim::Optimizer& optimizer, data::Sampler& sampler) {
  run.resume(step.parts(), optimizer, sampler);
  if (run.options().resume) step.gather_values();
}

void save(run::Run& run, const GridStep& step, const optim::Optimizer& optimizer, const data::Sampler& sampler) {
  run.save(step.parts(), optimizer, sampler);
}

}  // namespace lockstep::grid
