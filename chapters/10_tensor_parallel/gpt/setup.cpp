#include "10_tensor_parallel/gpt/setup.hpp"

#include <climits>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "base/command_line.hpp"
#include "base/environment.hpp"
#include "base/error.hpp"
#include "comm/buffer.hpp"
#include "comm/joining/job_environment.hpp"
#include "pretrained/language_model.hpp"
#include "run/option_parser.hpp"
#include "run/text_summary.hpp"

namespace lockstep::tensor_parallel {

run::OptionList list_options(Options& options) {
  return run::join({run::list_options(static_cast<run::TrainOptions&>(options)),
                    {{.field = &options.sequence_parallel,
                      .name = "--sequence-parallel",
                      .help = "Divide norms, dropout and the residual stream among the ranks too, by rows",
                      .kind = run::OptionKind::kLayout}}});
}

// `lockstep launch` sets WORLD_SIZE also for a process that only checks the options, and is no rank.
int launched_ranks() {
  if (const auto ranks = environment::get_int("WORLD_SIZE", 1, INT32_MAX)) return static_cast<int>(*ranks);
  return comm::read_place(environment::get).world_size.value_or(1);
}

void refuse_data_parallelism(const run::TrainOptions& options, const CommandLine& line) {
  if (options.parallel.no_sync)
    throw UsageError("--no-sync is for train_gpt_ddp: ranks with parts of one model cannot train without an exchange");
  if (options.parallel.compress_gradients != "no")
    throw UsageError("--compress-gradients is for train_gpt_ddp: here ranks exchange activations; take --bf16");
  if (line.is_given("--check-replicas"))
    throw UsageError("--check-replicas is for train_gpt_ddp: here every rank has other weights");
}

void require_divisible_model(const nn::GptConfig& config, std::int64_t ranks, RowLayout rows) {
  require_divisible_heads(config, ranks);
  if (config.vocabulary_size < ranks)
    throw UsageError(concat("--vocabulary-size ", config.vocabulary_size, " is too small for ", ranks,
                            " ranks, each of which has some of the tokens; use at least ", ranks));
  if (rows == RowLayout::kDivided && config.context_length % ranks != 0)
    throw UsageError(concat("--sequence-parallel: ", ranks, " ranks cannot divide the ", config.context_length,
                            " positions of a sample equally"));
}

void complete(Options& options, const CommandLine& line) {
  run::complete(static_cast<run::TrainOptions&>(options), line);
  options.data_ranks = 1;  // every rank computes the whole batch
  options.require_divisible_batch(options.data_ranks);
  refuse_data_parallelism(options, line);
  const int ranks = launched_ranks();
  require_divisible_model(options.model.config(options.data.vocabulary_size), ranks, options.rows());
  options.division = concat("tensor ", ranks, options.sequence_parallel ? ", sequence parallel" : "");
}

int run_training(int argc, const char* const* argv, const std::function<int(const Options&)>& train) noexcept {
  Options defaults;
  defaults.device.name = run::launched_device(std::move(defaults.device.name));
  return run::run_training(argc, argv, "Trains a GPT on a text, with every matrix divided among the ranks", defaults,
                           train);
}

run::BatchOf batch_of(const Group& group) {
  return group.rank() == 0 ? run::BatchOf::kThisRank : run::BatchOf::kCountedElsewhere;
}

run::RunSummary summarize_text_run(const run::TrainOptions& options, const data::Corpus& corpus,
                                   const nn::Module& model, Group& group) {
  run::RunSummary summary = run::summarize_text_run(options, corpus, model);
  std::int64_t owned = 0;
  for (const nn::NamedParameter& named : model.named_parameters()) owned += named.is_owned ? named.slice.count() : 0;
  group.all_reduce(comm::host_buffer(std::span(&owned, 1))).synchronize();
  summary.parameters = owned;
  return summary;
}

std::vector<NamedPart> parts_of(const nn::Module& model) {
  std::vector<NamedPart> parts;
  for (const nn::NamedParameter& named : model.named_parameters())
    parts.push_back({named.name, named.parameter.value(), named.slice, named.is_owned});
  return parts;
}

std::unique_ptr<nn::Gpt> saved_model(run::Run& run) {
  run.checkpoints().finish();
  return pretrained::load_language_model(run.folder()).model;
}

}  // namespace lockstep::tensor_parallel
