// Mistakes with sharded ranks, and the messages about them.
#include <functional>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "autograd/functions.hpp"
#include "base/error.hpp"
#include "nn/layers.hpp"
#include "sharded_training.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

Tensor tensor_with(const std::vector<float>& values, const Shape& shape) {
  return Tensor::from(std::span<const float>(values), shape);
}

// Parameters of three, one and two elements: most ranks of a larger job own none.
class Tiny : public nn::Module {
 public:
  Tiny()
      : weight_(register_parameter("weight", tensor_with({0.5F, -1, 2}, {1, 3}))),
        bias_(register_parameter("bias", tensor_with({0}, {1}))),
        second_(register_parameter("second", tensor_with({1, -2}, {1, 2}))) {}

  [[nodiscard]] autograd::Variable loss(float scale, bool uses_second = true) const {
    const autograd::Variable x(tensor_with({scale, 2, -1}, {1, 3})), z(tensor_with({scale, 1}, {1, 2}));
    autograd::Variable y = autograd::linear(x, weight_, bias_);
    if (uses_second) y = autograd::add(y, autograd::linear(z, second_, {}));
    return autograd::mse_loss(y, tensor_with({1}, {1, 1}));
  }

 private:
  autograd::Variable weight_, bias_, second_;
};

std::vector<float> train_tiny(comm::JobContext job, int stage) {
  const int rank = job.rank;
  const auto group = make_link(std::move(job), Link::kSharedMemory);
  Tiny model;
  std::optional<ddp::DistributedDataParallel> distributed;
  std::optional<sharded::ShardedDataParallel> sharded;
  const bool is_sharded = stage != kDistributed;
  is_sharded ? void(sharded.emplace(model, *group, sharded::ShardOptions{.stage = stage}))
             : void(distributed.emplace(model, *group));
  ddp::StepProtocol& steps = is_sharded ? static_cast<ddp::StepProtocol&>(*sharded) : *distributed;
  const nn::Module& updated = is_sharded ? sharded->shards() : model;
  optim::AdamW optimizer(nn::weight_decay_groups(updated, 0.1));
  for (int step = 0; step < 3; ++step) {
    optimizer.zero_grad();
    const std::vector<float> scales{static_cast<float>(rank + 1)};
    for (const float scale : steps.accumulate(scales)) model.loss(scale).backward();
    is_sharded ? sharded->clip_grad_norm(0.1) : optim::clip_grad_norm(model.parameters(), 0.1);
    optimizer.step(0.01);
    if (is_sharded) sharded->gather_values();
  }
  if (!is_sharded) return values_of(model);
  const auto in_step = sharded->in_step();
  return values_of(model);
}

std::vector<std::string> messages_of_ranks(int world_size, const std::function<void(comm::JobContext)>& rank_main) {
  std::vector<std::string> messages;
  for (const RankOutcome& outcome : run_ranks(world_size, rank_main)) messages.push_back(outcome.message());
  return messages;
}

}  // namespace

TEST_CASE("a model with fewer elements than ranks trains, with ranks that own nothing", "[sharded][multirank]") {
  const int world_size = GENERATE(2, 4, 5);
  const auto train = [world_size](int stage) {
    return run_ranks_for<std::vector<float>>(
        world_size, [stage](comm::JobContext job) { return train_tiny(std::move(job), stage); });
  };
  const auto expected = train(kDistributed);
  for (const int stage : {1, 2, 3}) CHECK(train(stage) == expected);
}

TEST_CASE("ranks that gather different units of one size get an error that names both", "[sharded][multirank]") {
  const auto messages = messages_of_ranks(2, [](comm::JobContext job) {
    const int rank = job.rank;
    const auto group = make_link(std::move(job), Link::kSharedMemory);
    nn::Gpt model(small_gpt(), 1);
    sharded::ShardedDataParallel sharded(model, *group);
    if (rank == 0) return sharded.gather_values();  // begins with the last block
    const sharded::Unit& first = sharded.units()[0];
    const Tensor whole = first.values.clone(), own = first.part_of(whole, rank);
    group->all_gather(comm::buffer_of(whole), comm::buffer_of(own), {.tag = "unit h.1"}).synchronize();
  });
  for (const std::string& message : messages)
    CHECK_THAT(message, ContainsSubstring("unit h.2") && ContainsSubstring("unit h.1"));
}

TEST_CASE("so do ranks that reduce different units", "[sharded][multirank]") {
  const auto messages = messages_of_ranks(2, [](comm::JobContext job) {
    const int rank = job.rank;
    const auto group = make_link(std::move(job), Link::kSharedMemory);
    nn::Gpt model(small_gpt(), 1);
    sharded::ShardedDataParallel sharded(model, *group);
    const data::Batch batch = batch_with({rank});
    if (rank == 0) return model.loss(batch.inputs, batch.targets).backward();  // begins with the last block
    const sharded::Unit& first = sharded.units()[0];
    const Tensor whole = first.gradients.clone(), own = first.part_of(whole, rank);
    group->reduce_scatter(comm::buffer_of(own), comm::buffer_of(whole), comm::ReduceOp::kMean, {.tag = "unit h.1"})
        .synchronize();
  });
  for (const std::string& message : messages)
    CHECK_THAT(message, ContainsSubstring("unit h.2") && ContainsSubstring("unit h.1"));
}

TEST_CASE("so do ranks that need different units in stage 3", "[sharded][multirank]") {
  const auto messages = messages_of_ranks(2, [](comm::JobContext job) {
    const int rank = job.rank;
    const auto group = make_link(std::move(job), Link::kSharedMemory);
    nn::Gpt model(small_gpt(), 1);
    sharded::ShardedDataParallel sharded(model, *group, {.stage = 3});
    const auto in_step = sharded.in_step();
    for (const nn::NamedParameter& named : model.named_parameters())
      if (named.name == concat("h.", rank, ".attn.c_attn.weight")) (void)named.parameter.value();
  });
  for (const std::string& message : messages)
    CHECK_THAT(message, ContainsSubstring("unit h.0") && ContainsSubstring("unit h.1"));
}

TEST_CASE("a parameter without a gradient ends the step on all ranks, by name", "[sharded][multirank]") {
  const auto messages = messages_of_ranks(2, [](comm::JobContext job) {
    const int rank = job.rank;
    const auto group = make_link(std::move(job), Link::kSharedMemory);
    Tiny model;
    sharded::ShardedDataParallel sharded(model, *group);
    model.loss(1, rank == 0).backward();
  });
  for (const std::string& message : messages)
    CHECK_THAT(message, ContainsSubstring("rank 1") && ContainsSubstring("parameter second of unit second"));
}

TEST_CASE("a rank of a group that is a part of the job is named by its number in the job", "[sharded][multirank]") {
  const auto messages = messages_of_ranks(2, [](comm::JobContext job) {
    const auto world = make_link(std::move(job), Link::kSharedMemory);
    const auto reversed = world->split(0, /*key=*/1 - world->rank());
    Tiny model;
    sharded::ShardedDataParallel sharded(model, *reversed);
    model.loss(1, world->rank() == 0).backward();
  });
  for (const std::string& message : messages)
    CHECK_THAT(message, ContainsSubstring("rank 1: parameter second of unit second"));
}

TEST_CASE("what cannot be sharded is refused", "[sharded]") {
  const auto group = make_link(comm::JobContext(), Link::kSharedMemory);
  nn::Gpt model(small_gpt(), 1);
  {
    const sharded::ShardedDataParallel sharded(model, *group);
    CHECK_THROWS_WITH(sharded::ShardedDataParallel(model, *group), ContainsSubstring("a module can be wrapped once"));
  }
  const sharded::ShardedDataParallel again(model, *group);  // the first has let go of it
  nn::Linear wide(2, 3, nn::InitScope(1, DType::kFloat64));
  CHECK_THROWS_WITH(sharded::ShardedDataParallel(wide, *group), ContainsSubstring("units hold float32"));
  nn::Linear frozen(2, 3, 1);
  frozen.set_requires_grad(false);
  CHECK_THROWS_WITH(sharded::ShardedDataParallel(frozen, *group), ContainsSubstring("no parameters to train"));
}

TEST_CASE("an optimizer over the model is refused, made before or after the model is wrapped", "[sharded]") {
  const int stage = GENERATE(1, 2, 3);
  const auto group = make_link(comm::JobContext(), Link::kSharedMemory);
  nn::Gpt model(small_gpt(), 1);
  const auto over = [](const nn::Module& module) {
    return std::make_unique<optim::AdamW>(nn::weight_decay_groups(module, 0.1));
  };
  const auto made_before = over(model);
  const std::string message =
      "rank 0: sharded: the optimizer was made over the model, whose gradients end in the ranks' shards (wte.weight in "
      "those of unit wte): make it over sharded.shards(), after the model has been wrapped";
  {
    sharded::ShardedDataParallel sharded(model, *group, {.stage = stage});
    const std::vector<TrainingPart> parts{{batch_with({1}), {}, 1}};
    for (const TrainingPart& part : sharded.accumulate(parts))
      model.loss(part.batch.inputs, part.batch.targets).backward();
    CHECK_THROWS_WITH(made_before->step(0.1), message);
    CHECK_THROWS_WITH(over(model), message);
    CHECK_NOTHROW(over(sharded.shards())->step(0.1));
  }
  CHECK_NOTHROW(over(model));  // no longer wrapped
}

TEST_CASE("parameters that share memory without being tied are refused by name", "[sharded]") {
  class SharedTable final : public nn::Module {
   public:
    explicit SharedTable(bool ties) : table_(register_parameter("table.weight", tensor_with({1, 2}, {1, 2}))) {
      if (ties) {
        register_tied_parameter("head.weight", table_);
      } else {
        (void)register_parameter("head.weight", table_.value());
      }
    }

   private:
    autograd::Variable table_;
  };
  const auto group = make_link(comm::JobContext(), Link::kSharedMemory);
  SharedTable tied(true), untied(false);
  CHECK_NOTHROW(sharded::ShardedDataParallel(tied, *group));
  CHECK_THROWS_WITH(sharded::ShardedDataParallel(untied, *group),
                    ContainsSubstring("rank 0: sharded: head.weight has the memory of table.weight") &&
                        ContainsSubstring("unit head") && ContainsSubstring("register_tied_parameter()"));
}

TEST_CASE("a rank that asks for a value outside a step is told what to do, and nobody waits for it",
          "[sharded][multirank]") {
  std::latch step_is_over(2);  // on both ranks: one that is still in it would be told that the other has failed
  const auto messages = messages_of_ranks(2, [&step_is_over](comm::JobContext job) {
    const int rank = job.rank;
    const auto group = make_link(std::move(job), Link::kSharedMemory);
    nn::Gpt model(small_gpt(), 1);
    sharded::ShardedDataParallel sharded(model, *group, {.stage = 3});
    const std::vector<TrainingPart> parts{{batch_with({1}), {}, 1}};
    for (const TrainingPart& part : sharded.accumulate(parts))
      model.loss(part.batch.inputs, part.batch.targets).backward();
    sharded.gather_values();
    step_is_over.arrive_and_wait();
    if (rank == 0) (void)model.loss(parts[0].batch.inputs, parts[0].batch.targets);  // evaluates alone
  });
  CHECK_THAT(messages[0], ContainsSubstring("value of wte.weight is asked for outside a step") &&
                              ContainsSubstring("accumulate() or in_step()") && ContainsSubstring("shards()"));
  CHECK(messages[1] == "");
}

TEST_CASE("without join(), a rank without data in its very first step ends the job with a sentence",
          "[sharded][multirank]") {
  const auto messages = messages_of_ranks(2, [](comm::JobContext job) {
    const int rank = job.rank;
    const auto group = make_link(std::move(job), Link::kSharedMemory);
    nn::Gpt model(small_gpt(), 1);
    sharded::ShardedDataParallel sharded(model, *group, {.stage = 3});
    std::vector<TrainingPart> parts;
    if (rank == 0) parts.push_back({batch_with({1}), {}, 1});
    for (const TrainingPart& part : sharded.accumulate(parts))
      model.loss(part.batch.inputs, part.batch.targets).backward();
  });
  for (const std::string& message : messages)
    CHECK_THAT(message, ContainsSubstring("rank 1 has no data in the first pass"));
}

TEST_CASE("there is no stage 4", "[sharded]") {
  const auto group = make_link(comm::JobContext(), Link::kSharedMemory);
  nn::Gpt model(small_gpt(), 1);
  CHECK_THROWS_WITH(sharded::ShardedDataParallel(model, *group, {.stage = 4}), ContainsSubstring("no stage 4"));
}
