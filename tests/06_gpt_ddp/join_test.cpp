// Ranks with unequal numbers of samples take the steps that one process takes on all of them.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "02_ring_all_reduce/ring_process_group.hpp"
#include "06_gpt_ddp/distributed_sampler.hpp"
#include "branch_model.hpp"
#include "data/data_loader.hpp"
#include "nn/layers.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::test;

namespace {

/// The recorded features and targets, over and over.
class RecordedDataset final : public data::Dataset {
 public:
  explicit RecordedDataset(std::int64_t size) : size_(size) {}
  [[nodiscard]] std::int64_t size() const noexcept override { return size_; }
  [[nodiscard]] data::Batch batch(std::span<const std::int64_t> indices) const override {
    const auto features = recorded().at("features").get<std::vector<float>>();
    const auto targets = recorded().at("targets").get<std::vector<float>>();
    std::vector<float> x, y;
    for (const std::int64_t index : indices) {
      const auto row = static_cast<std::ptrdiff_t>(index % 6);
      x.insert(x.end(), features.begin() + 3 * row, features.begin() + 3 * row + 3);
      y.insert(y.end(), targets.begin() + 2 * row, targets.begin() + 2 * row + 2);
    }
    const auto count = static_cast<std::int64_t>(indices.size());
    return {tensor_of(x, {count, 3}), tensor_of(y, {count, 2}), Tensor::from(indices, {count})};
  }

 private:
  std::int64_t size_;
};

void descend(const nn::Module& model) {
  for (const Variable& parameter : model.parameters()) {
    const auto value = parameter.value().span<float>(), gradient = parameter.gradient().span<float>();
    for (std::size_t i = 0; i < value.size(); ++i) value[i] -= 0.1F * gradient[i];
  }
}

std::vector<float> all_values(const nn::Module& model) {
  std::vector<float> all;
  for (const Variable& parameter : model.parameters()) {
    const auto values = parameter.value().span<float>();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

struct Trained {
  std::vector<double> losses;  // by step
  std::vector<float> values;   // at the end
};

constexpr std::int64_t kBatchPerRank = 2;
constexpr std::int64_t kEpochs = 2;

Trained train_alone(std::int64_t samples, int world_size) {
  const RecordedDataset dataset(samples);
  data::SequentialSampler sampler(samples);
  data::DataLoader loader(dataset, sampler, {.batch_size = kBatchPerRank * world_size, .drop_last = false});
  SmallModel model(recorded().at("parameters"));
  Trained trained;
  for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    for (const data::Batch& batch : loader) {
      model.zero_grad();
      const Variable loss = model.loss(batch.inputs, batch.targets);
      loss.backward();
      descend(model);
      trained.losses.push_back(loss.value().item());
    }
  }
  trained.values = all_values(model);
  return trained;
}

std::vector<Part> parts_of(const data::Batch& batch) {
  if (batch.size() == 0) return {};
  return row_by_row({batch.inputs, batch.targets});
}

Trained train_joined(comm::JobContext context, std::int64_t samples, const ddp::DdpOptions& options) {
  const int rank = context.rank, world_size = context.world_size;
  const Group group = make_group(std::move(context));
  const RecordedDataset dataset(samples);
  ddp::DistributedSampler sampler(samples, rank, world_size,
                                  {.shuffle = ddp::Shuffle::kNo, .remainder = ddp::Remainder::kKeep});
  data::DataLoader loader(dataset, sampler, {.batch_size = kBatchPerRank, .drop_last = false});
  SmallModel model(recorded().at("parameters"));
  ddp::DistributedDataParallel ddp(model, *group, options);
  Trained trained;
  for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    for (const data::Batch& batch : ddp.join(loader)) {
      model.zero_grad();
      double mean_loss = 0;
      const std::vector<Part> parts = parts_of(batch);
      for (const Part& part : ddp.accumulate(parts)) {
        const Variable loss = model.loss(part.features, part.targets);
        mean_loss += part.weight * loss.value().item();
        loss.backward(part.weight);
      }
      descend(model);
      trained.losses.push_back(ddp.average(mean_loss));
    }
  }
  trained.values = all_values(model);
  return trained;
}

}  // namespace

TEST_CASE("uneven ranks take the steps of one process on the same samples", "[ddp][multirank]") {
  const int world_size = GENERATE(2, 3);
  // 1: only rank 0 has a sample. 5: with 2 ranks, rank 1 has nothing in the last step. 12: all equal.
  const std::int64_t samples = GENERATE(1, 2, 5, 7, 12);
  const auto options = GENERATE(ddp::DdpOptions{}, kOneEach, ddp::DdpOptions{.find_unused_parameters = true},
                                ddp::DdpOptions{.static_graph = true});
  const Trained alone = train_alone(samples, world_size);
  const auto ranks = run_ranks_for<Trained>(
      world_size, [&](comm::JobContext context) { return train_joined(std::move(context), samples, options); });
  for (const Trained& own : ranks) {
    CHECK(own.losses == ranks[0].losses);
    CHECK(own.values == ranks[0].values);
    REQUIRE(own.losses.size() == alone.losses.size());
  }
  // Sums of at most 12 terms below 16 in another order, at most 6 steps of size 0.1: some roundings of 2^-24 * 16.
  for (std::size_t i = 0; i < alone.losses.size(); ++i) CHECK(std::abs(ranks[0].losses[i] - alone.losses[i]) < 1e-5);
  for (std::size_t i = 0; i < alone.values.size(); ++i) CHECK(std::abs(ranks[0].values[i] - alone.values[i]) < 1e-5F);
}

TEST_CASE("join() that is switched off sends nothing and ends with each rank's own loader", "[ddp][multirank]") {
  std::vector<std::uint64_t> sent(2);
  std::vector<int> steps(2);
  run_all(2, [&](comm::JobContext context) {
    const auto rank = static_cast<std::size_t>(context.rank);
    const std::int64_t samples = rank == 0 ? 8 : 4;
    const Group group = ring::make_ring_process_group(std::move(context), {.small_bytes = 0});
    const RecordedDataset dataset(samples);
    data::SequentialSampler sampler(samples);
    data::DataLoader loader(dataset, sampler, {.batch_size = 2});
    SmallModel model(recorded().at("parameters"));
    ddp::DistributedDataParallel ddp(model, *group);
    const auto before = group->traffic_sent().payload_bytes;
    for ([[maybe_unused]] const data::Batch& batch : ddp.join(loader, false)) ++steps[rank];
    sent[rank] = static_cast<std::uint64_t>(group->traffic_sent().payload_bytes - before);
  });
  CHECK(sent == std::vector<std::uint64_t>{0, 0});
  CHECK(steps == std::vector<int>{4, 2});
}

TEST_CASE("where join() is switched off, a rank that runs out of data ends the others with an error, not a hang",
          "[ddp][multirank]") {
  const bool goes_on = GENERATE(false, true);  // rank 1 leaves, or enters a collective that rank 0 is not in
  const auto outcomes = run_ranks(2, [&](comm::JobContext context) {
    const std::int64_t samples = context.rank == 0 ? 8 : 4;
    const Group group = make_group(std::move(context));
    const RecordedDataset dataset(samples);
    data::SequentialSampler sampler(samples);
    data::DataLoader loader(dataset, sampler, {.batch_size = 2});
    SmallModel model(recorded().at("parameters"));
    ddp::DistributedDataParallel ddp(model, *group);
    for (const data::Batch& batch : ddp.join(loader, false)) {
      model.zero_grad();
      model.loss(batch.inputs, batch.targets).backward();
    }
    if (goes_on) (void)ddp.average(1);
  });
  for (const RankOutcome& outcome : outcomes) CHECK_FALSE(outcome.is<TimeoutError>());  // nobody has waited for nothing
  CHECK_THAT(outcomes[0].message(), ContainsSubstring("rank 1"));
  if (goes_on) CHECK_THAT(outcomes[1].message(), ContainsSubstring("rank 0"));
}

namespace {

/// The recorded features, and classes to predict; those of `ignored` samples count for nothing.
class LabelledDataset final : public data::Dataset {
 public:
  [[nodiscard]] std::int64_t size() const noexcept override { return 10; }
  [[nodiscard]] data::Batch batch(std::span<const std::int64_t> indices) const override {
    // Batches of four, dealt to two ranks: rank 1 has no target in the first, nobody has one in the second, rank 0 has
    // none in the last.
    static const std::vector<std::int64_t> kIgnored{1, 3, 4, 5, 6, 7, 8};
    data::Batch batch = RecordedDataset(size()).batch(indices);
    batch.targets = Tensor::empty({batch.size()}, DType::kInt32);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const bool is_ignored = std::ranges::find(kIgnored, indices[i]) != kIgnored.end();
      batch.targets.span<std::int32_t>()[i] = is_ignored ? -100 : static_cast<std::int32_t>(indices[i] % 4);
    }
    return batch;
  }
};

std::vector<Part> counted_rows(const data::Batch& batch) {
  std::vector<Part> parts;
  const auto all = static_cast<double>(std::max<std::int64_t>(1, autograd::target_count(batch.targets)));
  for (std::int64_t row = 0; row < batch.size(); ++row) {
    const Tensor targets = batch.targets.rows(row, row + 1);
    const double weight = static_cast<double>(autograd::target_count(targets)) / all;
    parts.push_back({batch.inputs.rows(row, row + 1), targets, {}, weight});
  }
  return parts;
}

}  // namespace

TEST_CASE("ranks count the targets that the loss counts, and go on where a step has none", "[ddp][multirank]") {
  const LabelledDataset dataset;
  Trained alone;
  {
    data::SequentialSampler sampler(dataset.size());
    data::DataLoader loader(dataset, sampler, {.batch_size = 4, .drop_last = false});
    nn::Linear layer(3, 4, 1);
    for (const data::Batch& batch : loader) {
      layer.zero_grad();
      const Variable loss = autograd::cross_entropy(layer.forward(Variable(batch.inputs)), batch.targets);
      loss.backward();
      descend(layer);
      alone.losses.push_back(loss.value().item());
    }
    alone.values = all_values(layer);
  }
  CHECK(alone.losses.at(1) == 0);
  const auto ranks = run_ranks_for<Trained>(2, [&](comm::JobContext context) {
    const int rank = context.rank;
    const Group group = make_group(std::move(context));
    ddp::DistributedSampler sampler(dataset.size(), rank, 2,
                                    {.shuffle = ddp::Shuffle::kNo, .remainder = ddp::Remainder::kKeep});
    data::DataLoader loader(dataset, sampler, {.batch_size = 2, .drop_last = false});
    nn::Linear layer(3, 4, 1);
    ddp::DistributedDataParallel ddp(layer, *group);
    Trained trained;
    for (const data::Batch& batch : ddp.join(loader)) {
      layer.zero_grad();
      double mean_loss = 0;
      const std::vector<Part> parts = counted_rows(batch);
      for (const Part& part : ddp.accumulate(parts)) {
        const Variable loss = autograd::cross_entropy(layer.forward(Variable(part.features)), part.targets);
        mean_loss += part.weight * loss.value().item();
        loss.backward(part.weight);
      }
      descend(layer);
      trained.losses.push_back(ddp.average(mean_loss));
    }
    trained.values = all_values(layer);
    return trained;
  });
  for (const Trained& own : ranks) {
    REQUIRE(own.losses.size() == 3);
    // A few roundings of float32 in losses around 1 and values below 1.
    for (std::size_t i = 0; i < 3; ++i) CHECK(std::abs(own.losses[i] - alone.losses[i]) < 1e-6);
    for (std::size_t i = 0; i < own.values.size(); ++i) CHECK(std::abs(own.values[i] - alone.values[i]) < 1e-6F);
  }
}
