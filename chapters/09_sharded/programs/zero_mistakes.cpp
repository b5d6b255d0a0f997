// zero_mistakes: makes a mistake that users of sharded training have made, on four ranks. Prints the wrong line and the
// right one, and what comes of it: the message of each rank, or numbers beside the right ones if nothing reports it.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "03_nccl/choose_backend.hpp"
#include "06_gpt_ddp/ddp/setup.hpp"
#include "09_sharded/setup.hpp"
#include "09_sharded/sharded_data_parallel.hpp"
#include "base/command_line.hpp"
#include "base/error.hpp"
#include "comm/rendezvous.hpp"
#include "data/token_dataset.hpp"
#include "device/memory_limit.hpp"
#include "kernels/optimizer.hpp"
#include "launch/spawn.hpp"
#include "nn/gpt.hpp"
#include "optim/adamw.hpp"
#include "run/whole_tensors.hpp"

namespace {

using namespace lockstep;

constexpr int kRanks = 4;
constexpr std::uint64_t kSeed = 1;

// A small GPT; deeper, it is much larger than its units.
nn::GptConfig gpt_config(std::int64_t layers) {
  nn::GptConfig config = nn::GptConfig::named("tiny");
  config.layer_count = layers;
  return config;
}

// One sample of eight tokens, so that memory is needed for weights above all.
data::Batch batch_of(std::int64_t rank) {
  return data::RandomTokenDataset({.sample_count = kRanks, .context_length = 8, .vocabulary_size = 256}).batch({&rank, 1});
}

// This rank's part of a training run without mistakes.
struct Training {
  Training(comm::ProcessGroup& group, int stage)
      : batches{batch_of(group.rank())},
        model(gpt_config(4), sharded::init_scope(kSeed, group.rank(), Device{})),
        sharded(model, group, {.stage = stage}),
        optimizer(nn::weight_decay_groups(sharded.shards(), 0.1)) {}

  autograd::Variable loss() { return model.loss(batches.front().inputs, batches.front().targets); }
  void step() {
    optimizer.zero_grad();
    for (const data::Batch& batch : sharded.accumulate(batches)) model.loss(batch.inputs, batch.targets).backward();
    optimizer.step(1e-3);
    sharded.gather_values();
  }

  std::vector<data::Batch> batches;
  nn::Gpt model;
  sharded::ShardedDataParallel sharded;
  optim::AdamW optimizer;
};

// From now on a rank has no more memory than it has used at once so far.
void limit_memory(int rank) { set_memory_limit(Device{}, counted_memory().peak, concat("rank ", rank)); }

void evaluate_alone(comm::ProcessGroup& group) {
  Training training(group, 3);
  training.step();
  if (group.rank() == 0) (void)training.loss();
  training.step();
}

void save_alone(comm::ProcessGroup& group) {
  Training training(group, 3);
  training.step();
  if (group.rank() == 0) {
    const run::TrainingParts parts{sharded::parts_of(training.sharded, 0), run::parts_of(training.optimizer)};
    const run::WholeTensors files(parts, &group);  // the first thing that a save does
  }
  training.step();
}

void update_model(comm::ProcessGroup& group) {
  Training training(group, 3);
  optim::AdamW optimizer(nn::weight_decay_groups(training.model, 0.1));
}

// Blocks have equal sizes: without the units' names, each rank would compute with the weights of another block.
void part_ways(comm::ProcessGroup& group) {
  Training training(group, 3);
  const auto in_step = training.sharded.in_step();
  const std::string weight = concat("h.", group.rank() % 2, ".attn.c_attn.weight");
  for (const nn::NamedParameter& named : training.model.named_parameters()) {
    if (named.name == weight) (void)named.parameter.value();
  }
}

double squares_of(const std::vector<autograd::Variable>& parameters) {
  std::vector<Tensor> values;
  for (const autograd::Variable& parameter : parameters) values.push_back(parameter.value());
  return kernels::squared_norm(values);
}

void count_replicas(comm::ProcessGroup& group) {
  Training training(group, 1);
  const auto norm_of = [&group](const nn::Module& module) {
    double squares = squares_of(module.parameters());
    group.all_reduce(comm::host_buffer(std::span(&squares, 1))).synchronize();
    return std::sqrt(squares);
  };
  const double wrong = norm_of(training.model), right = norm_of(training.sharded.shards());
  if (group.rank() != 0) return;
  std::cout << "no rank reports it: the norm of the weights is " << wrong << ", not " << right
            << ", because each of the " << kRanks << " ranks counts all of "
            << training.sharded.units().front().tag << " and of the others\n";
}

void ask_the_shard(comm::ProcessGroup& group) {
  Training training(group, 1);
  std::int64_t wrong = 0, right = 0;  // elements of this rank that decay
  std::string missed;
  for (const nn::NamedParameter& shard : training.sharded.shards().named_parameters()) {
    const bool decays = shard.parameter.shape().rank() >= 2, is_matrix = shard.slice.whole.rank() >= 2;
    if (decays) wrong += shard.parameter.shape().count();
    if (is_matrix) right += shard.parameter.shape().count();
    if (is_matrix && !decays && missed.empty()) missed = shard.name;
  }
  if (group.rank() != 0) return;
  std::cout << "no rank reports it: on rank 0 " << wrong << " elements decay, not " << right << ": its part of "
            << missed << " has one dimension\n";
}

// A user's own observer, which keeps gradients to look at them later.
class GradientKeeper final : public autograd::GradientObserver {
 public:
  void on_gradient_ready(autograd::Variable& parameter) override {
    const AllocationPurpose purpose("a kept gradient of ", parameter.name());
    kept_.push_back(parameter.gradient().clone());
  }
  void on_backward_end() override {}

 private:
  std::vector<Tensor> kept_;
};

void keep_gradients(comm::ProcessGroup& group) {
  Training training(group, 2);
  training.step();
  limit_memory(group.rank());
  GradientKeeper keeper;
  for (const autograd::Variable& parameter : training.model.parameters()) parameter.add_observer(&keeper);
  training.step();
}

void make_all(comm::ProcessGroup& group) {
  const nn::GptConfig config = gpt_config(16);
  {
    nn::Gpt right(config, sharded::init_scope(kSeed, group.rank(), Device{}));
    const sharded::ShardedDataParallel sharded(right, group, {.stage = 3});
  }
  limit_memory(group.rank());
  const nn::Gpt model(config, ddp::init_scope(kSeed, group.rank(), Device{}));
}

void fetch_all(comm::ProcessGroup& group) {
  Training training(group, 3);
  training.step();
  limit_memory(group.rank());
  const auto in_step = training.sharded.in_step();
  std::vector<Tensor> values;
  for (const autograd::Variable& parameter : training.model.parameters()) values.push_back(parameter.value());
}

// A table that is a layer's weight too.
class SharedTable final : public nn::Module {
 public:
  SharedTable()
      : table_(register_parameter("table.weight", Tensor::zeros({4, 2}))),
        head_(register_parameter("head.weight", table_.value())) {}

 private:
  autograd::Variable table_, head_;
};

void tie_by_memory(comm::ProcessGroup& group) {
  SharedTable model;
  const sharded::ShardedDataParallel sharded(model, group);
}

struct Mistake {
  const char *name, *wrong, *right;
  void (*make)(comm::ProcessGroup& group);
};

constexpr Mistake kMistakes[] = {
    {"evaluate", "if (rank == 0) evaluate(model, loader, *group);",
     "evaluate(model, sharded.in_step(loader), *group);  // on all ranks", evaluate_alone},
    {"save", "if (rank == 0) sharded::save(run, sharded, optimizer, sampler);",
     "sharded::save(run, sharded, optimizer, sampler);  // on all ranks", save_alone},
    {"optimizer", "optim::AdamW optimizer(nn::weight_decay_groups(model, 0.1));",
     "optim::AdamW optimizer(nn::weight_decay_groups(sharded.shards(), 0.1));", update_model},
    {"branch", "rank % 2 == 0 ? block_0(x) : block_1(x)", "the same blocks on all ranks", part_ways},
    {"norm", "all_reduce(squares of model.parameters())", "all_reduce(squares of sharded.shards().parameters())",
     count_replicas},
    {"decay", "if (shard.parameter.shape().rank() >= 2) decaying.push_back(shard);",
     "nn::weight_decay_groups(sharded.shards(), 0.1)", ask_the_shard},
    {"gradients", "kept.push_back(parameter.gradient().clone());  // in every backward",
     "read the gradients of sharded.shards() after backward", keep_gradients},
    {"model", "nn::Gpt model(config, ddp::init_scope(seed, rank, device));",
     "nn::Gpt model(config, sharded::init_scope(seed, rank, device));", make_all},
    {"prefetch", "for (parameter : model.parameters()) values.push_back(parameter.value());",
     "let operations ask for values: ShardOptions::prefetch gathers one unit in advance", fetch_all},
    {"tie", "register_parameter(\"head.weight\", table.value())", "register_tied_parameter(\"head.weight\", table)",
     tie_by_memory},
};

int list() {
  for (const Mistake& mistake : kMistakes)
    std::cout << mistake.name << std::string(12 - std::string(mistake.name).size(), ' ') << mistake.wrong << "\n";
  return 0;
}

int show(const std::string& name) {
  const Mistake* const mistake = std::ranges::find(kMistakes, name, &Mistake::name);
  if (mistake == std::end(kMistakes))
    throw UsageError(concat("there is no mistake ", name, "; without a name, zero_mistakes lists them"));
  const std::string lines = concat("wrong: ", mistake->wrong, "\nright: ", mistake->right, "\n");
  if (!launch::is_rank()) std::cout << lines << std::flush;
  return launch::spawn(
      [mistake] {
        const auto group = backend::make_process_group("auto", comm::rendezvous("env://"));
        mistake->make(*group);
        return 0;
      },
      kRanks);
}

}  // namespace

int main(int argc, char** argv) {
  CommandLine app("Makes a mistake with sharded training, and shows what comes of it");
  std::string name;
  app.add_option("mistake", name, "The mistake to make; without one, lists them");
  return run_main(app, argc, argv, [&] { return name.empty() ? list() : show(name); });
}
