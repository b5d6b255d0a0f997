// A GPT on eight devices, each with a thread of one process as its rank: NCCL, streams, and copies from device to
// device.
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "03_nccl/nccl_process_group.hpp"
#include "06_gpt_ddp/distributed_data_parallel.hpp"
#include "device/stream.hpp"
#include "support/accelerator.hpp"
#include "support/catch.hpp"
#include "support/run_ranks.hpp"
#include "support/trained_gpt.hpp"

using namespace lockstep;

namespace {

constexpr int kDevices = 8;
static_assert(kDevices == test::kSamples, "each rank has one sample of a step");

nn::GptConfig config() {
  return {.name = "test",
          .vocabulary_size = test::kVocabulary,
          .channels = test::kChannels,
          .head_count = 3,
          .layer_count = 2,
          .context_length = test::kPositions,
          .batch_size = test::kSamples,
          .dropout = 0.1};
}

// What a rank has after training, on the host.
struct Trained {
  std::vector<double> losses;
  test::Elements values;
  std::vector<float> from_neighbour;  // the token table of the rank before
};

std::vector<float> on_host(const Tensor& tensor) {
  const Tensor here = tensor.to(Device{});
  return {here.span<float>().begin(), here.span<float>().end()};
}

run::MicroBatch sample_of(int rank, int step, Device device) {
  run::MicroBatch part = run::split_batch(test::batch_of_step(step), kDevices, 5, step)[static_cast<std::size_t>(rank)];
  part.inputs = part.inputs.to(device);
  part.targets = part.targets.to(device);
  return part;
}

Trained train_rank(comm::JobContext job, std::vector<Tensor>& tables) {
  const int rank = job.rank;
  const Device device{accelerator_type(), rank};
  const auto group = nccl::make_nccl_process_group(std::move(job), {.device = device});
  const Stream stream(device);
  const StreamGuard guard(stream);
  nn::Gpt model(config(), {7, device});
  ddp::DistributedDataParallel ddp(model, *group);
  optim::AdamW optimizer(nn::weight_decay_groups(model, 0.1));
  Trained trained;
  for (int step = 0; step < test::kSteps; ++step) {
    const run::MicroBatch part = sample_of(rank, step, device);
    optimizer.zero_grad();
    const autograd::Variable loss = model.loss(part.inputs, part.targets, part.context);
    loss.backward();
    trained.losses.push_back(loss.value().item());
    (void)optim::clip_grad_norm(model.parameters(), 0.5);
    optimizer.step(2e-3);
  }
  for (const nn::NamedParameter& named : model.named_parameters())
    trained.values[named.name] = on_host(named.parameter.value());
  stream.synchronize();
  tables[static_cast<std::size_t>(rank)] = model.parameters().front().value();
  group->monitored_barrier(std::chrono::seconds(20));
  const Tensor& neighbour = tables[static_cast<std::size_t>((rank + kDevices - 1) % kDevices)];
  trained.from_neighbour = on_host(neighbour.to(device));
  group->monitored_barrier(std::chrono::seconds(20));  // before anybody's table is freed
  return trained;
}

}  // namespace

TEST_CASE("eight devices of one process train the GPT that one process trains on the CPU", "[ddp][gpu][multirank]") {
  if (Device::count(test::accelerator().type) < kDevices) test::skip(concat("fewer than ", kDevices, " devices"));
  const test::TrainedGpt expected = test::train_whole(config(), kDevices);
  std::vector<Trained> trained(kDevices);
  std::vector<Tensor> tables(kDevices);
  const auto outcomes = test::run_ranks(kDevices, [&](comm::JobContext job) {
    const auto rank = static_cast<std::size_t>(job.rank);
    trained[rank] = train_rank(std::move(job), tables);
  });
  std::vector<std::string> messages;
  for (const test::RankOutcome& outcome : outcomes) messages.push_back(outcome.message());
  REQUIRE(messages == std::vector<std::string>(kDevices));
  for (int step = 0; step < test::kSteps; ++step) {
    double mean = 0;
    for (const Trained& rank : trained) mean += rank.losses[static_cast<std::size_t>(step)] / kDevices;
    CHECK(std::abs(mean - expected.losses[static_cast<std::size_t>(step)]) < 1e-5);
  }
  for (const auto& [name, values] : expected.values) {
    INFO(name);
    CHECK(test::difference(trained[0].values.at(name), values) < 1e-3);  // Adam makes steps of roundings
    for (const Trained& rank : trained) CHECK(rank.values.at(name) == trained[0].values.at(name));
  }
  for (const Trained& rank : trained) CHECK(rank.from_neighbour == on_host(tables[0]));
}
