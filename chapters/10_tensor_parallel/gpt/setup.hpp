#pragma once
/// @file
/// The options of a tensor-parallel training run, and its checkpoints.
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "10_tensor_parallel/gpt/tensor_layers.hpp"
#include "data/corpus.hpp"
#include "nn/gpt.hpp"
#include "run/description.hpp"
#include "run/run.hpp"
#include "run/train_options.hpp"
#include "tensor/named_part.hpp"

namespace lockstep::tensor_parallel {

/// The options of train_gpt_tensor_parallel.
struct Options : run::TrainOptions {
  bool sequence_parallel = false;  ///< RowLayout::kDivided.

  [[nodiscard]] RowLayout rows() const { return sequence_parallel ? RowLayout::kDivided : RowLayout::kWhole; }
};

/// As list_options() of TrainOptions, with --sequence-parallel. It is not saved: a run may be resumed without it.
[[nodiscard]] run::OptionList list_options(Options& options);

/// The number of ranks that the launcher has started: WORLD_SIZE, or what mpirun or srun says. 1 if none has.
/// @throws  As comm::read_place().
[[nodiscard]] int launched_ranks();

/// For ranks that have parts of one model.
/// @throws UsageError  An option that is for data parallelism.
void refuse_data_parallelism(const run::TrainOptions& options, const CommandLine& line);

/// Before any rank begins: `lockstep launch` has the program check its options once.
/// @throws UsageError  `ranks` cannot divide the heads, the vocabulary or, with kDivided, the positions of a sample.
void require_divisible_model(const nn::GptConfig& config, std::int64_t ranks, RowLayout rows);

/// As complete() of TrainOptions, for launched_ranks().
/// @throws UsageError  The ranks cannot divide the model. Also as refuse_data_parallelism().
void complete(Options& options, const CommandLine& line);

/// As run::run_training(). @return  The exit status for main().
[[nodiscard]] int run_training(int argc, const char* const* argv,
                               const std::function<int(const Options&)>& train) noexcept;

/// Whether this rank counts the samples that all ranks compute: rank 0 does.
[[nodiscard]] run::BatchOf batch_of(const Group& group);

/// As run::summarize_text_run(), with the parameters of all ranks. Collective.
[[nodiscard]] run::RunSummary summarize_text_run(const run::TrainOptions& options, const data::Corpus& corpus,
                                                 const nn::Module& model, Group& group);

/// The parts of the model that this rank has, for run::Run::resume() and save(): checkpoints have whole tensors, so any
/// number of ranks continues them, and so does every other trainer.
[[nodiscard]] std::vector<NamedPart> parts_of(const nn::Module& model);

/// The model of the checkpoint that was saved last, whole: to generate text, on the CPU. Waits until it is on disk.
/// @throws IoError, FormatError  It could not be saved, or read.
[[nodiscard]] std::unique_ptr<nn::Gpt> saved_model(run::Run& run);

}  // namespace lockstep::tensor_parallel
