#pragma once
/// @file
/// The options of a sharded training run, and its checkpoints.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "09_sharded/sharded_data_parallel.hpp"
#include "data/sampler.hpp"
#include "nn/init.hpp"
#include "optim/optimizer.hpp"
#include "run/run.hpp"
#include "run/train_options.hpp"
#include "tensor/named_part.hpp"

namespace lockstep::sharded {

/// The options of train_gpt_sharded.
struct Options : run::TrainOptions {
  std::int64_t zero = 1;     ///< The stage of ZeRO, 1 to 3.
  bool no_prefetch = false;  ///< In stage 3, gather each unit when it is needed.
};

/// As list_options() of TrainOptions, with --zero and --no-prefetch. They are not saved: a run may be resumed
/// without them.
[[nodiscard]] run::OptionList list_options(Options& options);

/// As complete() of TrainOptions.
/// @throws UsageError  A stage that does not exist, or an option that sharding does not support.
void complete(Options& options, const CommandLine& line);

/// As ddp::init_scope(), but parameters are born without elements: ShardedDataParallel draws them unit by unit.
[[nodiscard]] nn::InitScope init_scope(std::uint64_t seed, int rank, Device device);

/// For the constructor of ShardedDataParallel.
[[nodiscard]] ShardOptions shard_options(const Options& options);

/// As run::run_training(); with --zero 0 train_gpt_ddp takes over the process. @return  The exit status for main().
[[nodiscard]] int run_training(int argc, const char* const* argv,
                               const std::function<int(const Options&)>& train) noexcept;

/// As run::Run::show_sample(); in stage 3 all ranks generate, because none has the model. Collective.
void show_sample(run::Run& run, ShardedDataParallel& model, const std::function<std::string()>& generate);

/// The parts of the model that this rank has: its shards, and the frozen parameters, which every rank has and rank 0
/// saves. In the order of the module's parameters, which is that of the file.
[[nodiscard]] std::vector<NamedPart> parts_of(const ShardedDataParallel& model, int rank);

/// As run::Run::resume(), from a checkpoint of any program and any number of ranks. Each rank reads its own elements;
/// then the ranks gather the values. Collective.
/// @param optimizer  Over model.shards().
void resume(run::Run& run, ShardedDataParallel& model, optim::Optimizer& optimizer, data::Sampler& sampler);

/// As run::Run::save(): whole tensors, as one process would save them. Each rank sends its own elements. Collective.
/// @param optimizer  Over model.shards().
void save(run::Run& run, const ShardedDataParallel& model, const optim::Optimizer& optimizer,
          const data::Sampler& sampler);

}  // namespace lockstep::sharded
