// Ranks with unequal numbers of samples, in training and in evaluation.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "06_gpt_ddp/distributed_sampler.hpp"
#include "data/data_loader.hpp"
#include "sharded_training.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

class Samples final : public data::Dataset {
 public:
  explicit Samples(std::int64_t size) : size_(size) {}
  [[nodiscard]] std::int64_t size() const noexcept override { return size_; }
  [[nodiscard]] data::Batch batch(std::span<const std::int64_t> indices) const override {
    return batch_with({indices.begin(), indices.end()});
  }

 private:
  std::int64_t size_;
};

struct Uneven {
  int world_size;
  std::int64_t training, validation;  // samples of all ranks
};

struct Losses {
  std::vector<double> training, validation;  // of this rank's batches
  std::vector<float> values;
};

// Two epochs, with an evaluation after each.
Losses train(comm::JobContext job, const Uneven& test, int stage) {
  const int rank = job.rank, world_size = job.world_size;
  const auto group = make_link(std::move(job), Link::kSharedMemory);
  const Samples training(test.training), validation(test.validation);
  const ddp::DistributedSamplerOptions keep{.shuffle = ddp::Shuffle::kNo, .remainder = ddp::Remainder::kKeep};
  ddp::DistributedSampler sampler(training.size(), rank, world_size, keep);
  ddp::DistributedSampler validation_sampler(validation.size(), rank, world_size, keep);
  data::DataLoader loader(training, sampler, {.batch_size = 2, .drop_last = false});
  data::DataLoader validation_loader(validation, validation_sampler, {.batch_size = 1, .drop_last = false});
  nn::Gpt model(small_gpt(), 3);
  std::optional<ddp::DistributedDataParallel> distributed;
  std::optional<sharded::ShardedDataParallel> sharded;
  const bool is_sharded = stage != kDistributed;
  is_sharded ? void(sharded.emplace(model, *group, sharded::ShardOptions{.stage = stage}))
             : void(distributed.emplace(model, *group));
  ddp::StepProtocol& steps = is_sharded ? static_cast<ddp::StepProtocol&>(*sharded) : *distributed;
  optim::AdamW optimizer(nn::weight_decay_groups(is_sharded ? sharded->shards() : model, 0.1));

  Losses losses;
  const auto evaluate = [&](auto&& batches) {
    const autograd::NoGradGuard no_grad;
    for (const data::Batch& batch : batches)
      losses.validation.push_back(model.loss(batch.inputs, batch.targets).value().item());
  };
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (const data::Batch& batch : steps.join(loader)) {
      std::vector<TrainingPart> parts;
      if (batch.size() > 0) parts.push_back({batch, {}, 1});
      optimizer.zero_grad();
      double loss_of_rank = 0;
      for (const TrainingPart& part : steps.accumulate(parts)) {
        const autograd::Variable loss = model.loss(part.batch.inputs, part.batch.targets);
        loss_of_rank = loss.value().item();
        loss.backward();
      }
      optimizer.step(0.01);
      if (is_sharded) sharded->gather_values();
      losses.training.push_back(steps.average(loss_of_rank));
    }
    is_sharded ? evaluate(sharded->in_step(validation_loader)) : evaluate(validation_loader);
  }
  if (is_sharded && stage == 3) {
    const auto all = sharded->in_step();
    losses.values = values_of(model);
  } else {
    losses.values = values_of(model);
  }
  return losses;
}

void check_as_distributed(const Uneven& test) {
  const auto of_all_ranks = [&](int stage) {
    return run_ranks_for<Losses>(test.world_size,
                                 [&](comm::JobContext job) { return train(std::move(job), test, stage); });
  };
  const std::vector<Losses> expected = of_all_ranks(kDistributed);
  for (const int stage : {1, 2, 3}) {
    INFO("stage " << stage << ", " << test.world_size << " ranks, " << test.training << " and " << test.validation);
    const std::vector<Losses> found = of_all_ranks(stage);
    for (std::size_t rank = 0; rank < found.size(); ++rank) {
      CHECK(found[rank].training == expected[rank].training);
      CHECK(found[rank].validation == expected[rank].validation);
      const bool has_equal_values = found[rank].values == expected[rank].values;
      CHECK(has_equal_values);
    }
  }
}

}  // namespace

TEST_CASE("ranks whose batches differ in size weigh every target alike, in each stage", "[sharded][multirank]") {
  check_as_distributed({.world_size = 3, .training = 11, .validation = 3});
}

TEST_CASE("ranks that run out of batches first train and evaluate on with the others", "[sharded][multirank]") {
  check_as_distributed({.world_size = 2, .training = 9, .validation = 5});
  check_as_distributed({.world_size = 3, .training = 13, .validation = 4});
}

TEST_CASE("ranks without any data in the first pass of a kind learn it from one that has some",
          "[sharded][multirank]") {
  check_as_distributed({.world_size = 2, .training = 1, .validation = 5});
  check_as_distributed({.world_size = 2, .training = 9, .validation = 1});
  check_as_distributed({.world_size = 4, .training = 2, .validation = 2});
}
