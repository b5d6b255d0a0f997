// checkpoint_helper ROOT STEPS KEEP_LAST MODE OPTIMIZER, under `lockstep launch`: trains a very small GPT on the ranks
// there are and saves a checkpoint in ROOT after every step; goes on from the newest one there. MODE is blocking or
// background, or one of these after "sharded_": then each rank updates and saves a part. OPTIMIZER is sgd or adamw.
// Every rank says "ready pid N"; rank 0 says which samples each step had.
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "02_ring_all_reduce/shared_memory/shared_memory_process_group.hpp"
#include "06_gpt_ddp/distributed_data_parallel.hpp"
#include "06_gpt_ddp/distributed_sampler.hpp"
#include "06_gpt_ddp/replica_check.hpp"
#include "09_sharded/setup.hpp"
#include "base/command_line.hpp"
#include "base/error.hpp"
#include "checkpoint/checkpoint.hpp"
#include "comm/rendezvous.hpp"
#include "data/data_loader.hpp"
#include "data/token_dataset.hpp"
#include "nn/gpt.hpp"
#include "optim/adamw.hpp"
#include "optim/sgd.hpp"
#include "run/train_options.hpp"
#include "run/training_state.hpp"
#include "run/whole_tensors.hpp"

namespace {

using namespace lockstep;

constexpr std::uint64_t kSeed = 3;
constexpr std::int64_t kGlobalBatch = 12;
constexpr std::int64_t kSamples = 41;  // three batches and a rest in an epoch
constexpr std::int32_t kVocabulary = 16;
constexpr std::int64_t kContext = 8;

nn::GptConfig model_config() {
  nn::GptConfig config;
  config.vocabulary_size = kVocabulary;
  config.channels = 8;
  config.head_count = 2;
  config.layer_count = 1;
  config.context_length = kContext;
  config.dropout = 0.1;
  return config;
}

std::unique_ptr<optim::Optimizer> make_optimizer(const std::string& name, const nn::Module& model) {
  auto groups = nn::weight_decay_groups(model, 0.1);
  if (name == "sgd") return std::make_unique<optim::Sgd>(std::move(groups), optim::SgdOptions{.momentum = 0.9});
  return std::make_unique<optim::AdamW>(std::move(groups));
}

// "step 3 samples 1 5 9": over all ranks, sorted.
std::string samples_line(std::int64_t step, std::vector<std::int64_t> ids) {
  std::ranges::sort(ids);
  std::string line = concat("step ", step, " samples");
  for (const std::int64_t id : ids) line += concat(' ', id);
  return line + " .";
}

// A model and its optimizer, whole on each rank or divided.
class Trainee {
 public:
  Trainee(comm::ProcessGroup& group, bool is_sharded, const std::string& optimizer_name)
      : group_(group), model_(model_config(), kSeed) {
    is_sharded ? void(sharded_.emplace(model_, group)) : void(distributed_.emplace(model_, group));
    optimizer_ = make_optimizer(optimizer_name, is_sharded ? sharded_->shards() : model_);
    if (is_sharded) whole_.emplace(parts(), &group);
  }

  void train(std::int64_t step, const data::Batch& batch) {
    const auto ids = batch.sample_ids.span<std::int64_t>();
    optimizer_->zero_grad();
    model_.loss(batch.inputs, batch.targets, {.is_training = true, .seed = kSeed, .step = step, .sample_ids = ids})
        .backward();
    optimizer_->step(0.05);
    if (sharded_) sharded_->gather_values();
  }

  std::int64_t load(const std::string& root, data::Sampler& sampler) {
    if (!sharded_) return run::load_training(root, model_, *optimizer_, sampler).step;
    const std::int64_t step = run::load_training(root, parts(), *optimizer_, sampler).step;
    sharded_->gather_values();
    return step;
  }

  void save(run::TrainingSaver& saver, std::int64_t step, const data::Sampler& sampler) {
    if (sharded_) {
      whole_->save(parts(), [&](const checkpoint::StreamedContents& contents) {
        saver.save(step, contents, optimizer_->step_counts(), sampler);
      });
    } else if (group_.rank() == 0) {
      saver.save(step, model_, *optimizer_, sampler);
    }
  }

 private:
  [[nodiscard]] run::TrainingParts parts() const {
    return {sharded::parts_of(*sharded_, group_.rank()), run::parts_of(*optimizer_)};
  }

  comm::ProcessGroup& group_;
  nn::Gpt model_;
  std::optional<ddp::DistributedDataParallel> distributed_;
  std::optional<sharded::ShardedDataParallel> sharded_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::optional<run::WholeTensors> whole_;
};

int train(const std::string& root, std::int64_t steps, const run::TrainOptions& options,
          const std::string& optimizer_name, bool is_sharded) {
  const auto group = ring::make_shared_memory_process_group(comm::rendezvous("env://"));
  const bool speaks = group->rank() == 0;
  const data::RandomTokenDataset dataset(
      {.sample_count = kSamples, .context_length = kContext, .vocabulary_size = kVocabulary, .seed = kSeed});
  ddp::DistributedSampler sampler(kSamples, group->rank(), group->world_size(), {kSeed});
  data::DataLoader loader(dataset, sampler, {.batch_size = kGlobalBatch / group->world_size()});
  Trainee trainee(*group, is_sharded, optimizer_name);
  std::int64_t step = 0;
  if (!checkpoint::CheckpointFolder(root).list().empty()) step = trainee.load(root, sampler);
  run::TrainingSaver saver(root, options.checkpoints, to_json(options), steps);
  std::cout << "ready pid " << getpid() << " step " << step << std::endl;

  for (std::int64_t epoch = sampler.epoch(); step < steps; ++epoch) {
    sampler.set_epoch(epoch);
    for (const data::Batch& batch : loader) {
      trainee.train(step, batch);
      ++step;
      const std::vector<std::int64_t> all_ids = ddp::gather_rows(*group, batch.sample_ids.span<std::int64_t>());
      if (speaks) std::cout << samples_line(step, all_ids) << std::endl;
      trainee.save(saver, step, sampler);
      if (speaks) std::cout << "saved " << step << std::endl;
      if (step == steps) break;
    }
  }
  if (speaks) saver.finish();  // of several ranks only one writes
  if (speaks) std::cout << "finished" << std::endl;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  return run_guarded("checkpoint_helper", [&] {
    run::TrainOptions options;
    options.checkpoints.keep_last = std::stoi(argv[3]);
    const std::string mode = argv[4];
    options.checkpoints.async_save = mode.ends_with("background");
    options.checkpoints.save_every = 1;
    return train(argv[1], std::stoi(argv[2]), options, argv[5], mode.starts_with("sharded_"));
  });
}
