#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "02_ring_all_reduce/ring_process_group.hpp"
#include "06_gpt_ddp/distributed_data_parallel.hpp"
#include "06_gpt_ddp/replica_check.hpp"
#include "autograd/functions.hpp"
#include "base/error.hpp"
#include "support/catch.hpp"
#include "support/run_ranks.hpp"

using namespace lockstep;
using autograd::Variable;

namespace {

Tensor tensor_of(const std::vector<float>& values, const Shape& shape) {
  return Tensor::from(std::span<const float>(values), shape);
}

/// Linear(3 -> 4), ReLU, Linear(4 -> 2): the model of record_pytorch_ddp.py. `extra` is never used in forward.
class SmallModel : public nn::Module {
 public:
  explicit SmallModel(const nlohmann::json& parameters, bool has_unused = false) {
    const auto add = [&](const char* name, const Shape& shape) {
      return register_parameter(name, tensor_of(parameters.at(name).get<std::vector<float>>(), shape));
    };
    weight0_ = add("0.weight", {4, 3});
    bias0_ = add("0.bias", {4});
    weight2_ = add("2.weight", {2, 4});
    bias2_ = add("2.bias", {2});
    if (has_unused) extra_ = register_parameter("extra", Tensor::zeros({5}));
  }

  Variable loss(const Tensor& features, const Tensor& targets) const {
    const Variable hidden = autograd::relu(autograd::linear(Variable(features), weight0_, bias0_));
    return autograd::mse_loss(autograd::linear(hidden, weight2_, bias2_), targets);
  }

 private:
  Variable weight0_, bias0_, weight2_, bias2_, extra_;
};

const nlohmann::json& recorded() {
  static const nlohmann::json values = [] {
    std::ifstream file(LOCKSTEP_TEST_DATA "/pytorch_ddp.json");
    return nlohmann::json::parse(file);
  }();
  return values;
}

struct Shard {
  Tensor features;  // [3, 3]
  Tensor targets;   // [3, 2]
};

Shard shard_of(int rank) {
  const auto features = tensor_of(recorded().at("features").get<std::vector<float>>(), {6, 3});
  const auto targets = tensor_of(recorded().at("targets").get<std::vector<float>>(), {6, 2});
  return {features.rows(3 * rank, 3 * rank + 3).clone(), targets.rows(3 * rank, 3 * rank + 3).clone()};
}

std::vector<float> all_gradients(const nn::Module& model) {
  std::vector<float> all;
  for (const Variable& parameter : model.parameters()) {
    for (const float value : parameter.gradient().span<float>()) all.push_back(value);
  }
  return all;
}

using Group = std::unique_ptr<comm::ProcessGroup>;
Group make_group(comm::JobContext context) { return ring::make_ring_process_group(std::move(context)); }

// Runs the ranks and lets the test fail with the message of the first that threw.
void run_all(int world_size, const std::function<void(comm::JobContext)>& rank_main) {
  for (const test::RankOutcome& outcome : test::run_ranks(world_size, rank_main)) REQUIRE(outcome.message() == "");
}

// Every parameter in a bucket of its own: the hardest order of leaving.
constexpr ddp::DdpOptions kOneEach{.first_bucket_bytes = 1, .bucket_bytes = 1};

}  // namespace

TEST_CASE("averaged gradients are those of PyTorch's DistributedDataParallel", "[ddp][multirank]") {
  const auto options = GENERATE(ddp::DdpOptions{}, kOneEach);
  std::vector<std::vector<float>> gradients(2);
  run_all(2, [&](comm::JobContext context) {
    const int rank = context.rank;
    const Group group = make_group(std::move(context));
    SmallModel model(recorded().at("parameters"));
    ddp::DistributedDataParallel ddp(model, *group, options);
    const Shard shard = shard_of(rank);
    model.loss(shard.features, shard.targets).backward();
    gradients[static_cast<std::size_t>(rank)] = all_gradients(model);
  });
  std::vector<float> expected;
  for (const char* name : {"0.weight", "0.bias", "2.weight", "2.bias"}) {
    for (const float value : recorded().at("gradients").at(name).get<std::vector<float>>()) expected.push_back(value);
  }
  REQUIRE(gradients[0].size() == expected.size());
  // Sums of at most 6 products of values below 4: a few units in the last place of float32.
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(std::abs(gradients[0][i] - expected[i]) < 2e-6F);
  CHECK(gradients[0] == gradients[1]);
}

TEST_CASE("the constructor gives every rank the parameters of rank 0", "[ddp][multirank]") {
  const int world_size = GENERATE(1, 2, 3, 5);
  std::vector<std::uint64_t> digests(static_cast<std::size_t>(world_size));
  run_all(world_size, [&](comm::JobContext context) {
    const int rank = context.rank;
    const Group group = make_group(std::move(context));
    SmallModel model(recorded().at("parameters"));
    for (const Variable& parameter : model.parameters()) parameter.value().span<float>()[0] += static_cast<float>(rank);
    const ddp::DistributedDataParallel ddp(model, *group);
    digests[static_cast<std::size_t>(rank)] = ddp::parameter_digest(model);
  });
  const SmallModel original(recorded().at("parameters"));
  for (const std::uint64_t digest : digests) CHECK(digest == ddp::parameter_digest(original));
}

TEST_CASE("buckets fill from the last parameter and respect their sizes", "[ddp]") {
  run_all(1, [&](comm::JobContext context) {
    const Group group = make_group(std::move(context));
    SmallModel model(recorded().at("parameters"));
    const ddp::DistributedDataParallel ddp(model, *group, {.first_bucket_bytes = 64, .bucket_bytes = 4096});
    std::vector<std::vector<std::size_t>> layout;
    for (const ddp::Bucket& bucket : ddp.buckets()) layout.push_back(bucket.parameters);
    // 2.bias alone fills the first 64 bytes; 2.weight starts the next.
    if (layout != std::vector<std::vector<std::size_t>>{{3}, {2, 1, 0}}) throw Error("unexpected layout");
  });
}

TEST_CASE("with no_sync nothing is sent, and the next backward averages the accumulated sum", "[ddp][multirank]") {
  std::vector<std::vector<float>> accumulated(2), twice(2);
  std::vector<bool> sent_nothing(2);
  run_all(2, [&](comm::JobContext context) {
    const auto rank = static_cast<std::size_t>(context.rank);
    const Group group = make_group(std::move(context));
    SmallModel model(recorded().at("parameters"));
    ddp::DistributedDataParallel ddp(model, *group);
    const Shard shard = shard_of(static_cast<int>(rank));
    const auto before = group->traffic_sent().payload_bytes;
    {
      const auto no_sync = ddp.no_sync();
      model.loss(shard.features, shard.targets).backward();
    }
    sent_nothing[rank] = group->traffic_sent().payload_bytes == before;
    model.loss(shard.features, shard.targets).backward();
    accumulated[rank] = all_gradients(model);
    model.zero_grad();
    model.loss(shard.features, shard.targets).backward(2.0);
    twice[rank] = all_gradients(model);
  });
  CHECK(sent_nothing[0]);
  CHECK(accumulated[0] == accumulated[1]);
  CHECK(accumulated[0] == twice[0]);  // g + g and 2 g are the same float
}

TEST_CASE("a parameter without a gradient is an error on all ranks that names it", "[ddp][multirank]") {
  // The first rank to notice aborts the group; the other may learn of it anywhere, even while it wraps its model.
  const auto outcomes = test::run_ranks(2, [&](comm::JobContext context) {
    const int rank = context.rank;
    const Group group = make_group(std::move(context));
    SmallModel model(recorded().at("parameters"), true);
    const ddp::DistributedDataParallel ddp(model, *group);
    const Shard shard = shard_of(rank);
    model.loss(shard.features, shard.targets).backward();
  });
  for (const test::RankOutcome& outcome : outcomes) CHECK_THAT(outcome.message(), ContainsSubstring("extra"));
}

TEST_CASE("ranks with different models are told which parameter differs, on every rank", "[ddp][multirank]") {
  std::vector<std::string> messages(3);
  run_all(3, [&](comm::JobContext context) {
    const auto rank = static_cast<std::size_t>(context.rank);
    const Group group = make_group(std::move(context));
    SmallModel model(recorded().at("parameters"), rank == 1);
    try {
      const ddp::DistributedDataParallel ddp(model, *group);
    } catch (const MismatchError& error) {
      messages[rank] = error.what();
    }
  });
  for (const std::string& message : messages) CHECK_THAT(message, ContainsSubstring("rank 1"));
}

TEST_CASE("a replica that drifted is named with its first differing tensor", "[ddp][multirank]") {
  std::vector<std::string> messages(3);
  std::vector<bool> agreed_before(3);
  run_all(3, [&](comm::JobContext context) {
    const auto rank = static_cast<std::size_t>(context.rank);
    const Group group = make_group(std::move(context));
    SmallModel model(recorded().at("parameters"));
    ddp::require_equal_parameters(model, *group, "before");
    agreed_before[rank] = true;
    if (rank == 2) {  // one bit of one element
      float& element = model.parameters()[2].value().span<float>()[5];
      element = std::bit_cast<float>(std::bit_cast<std::uint32_t>(element) ^ 1U);
    }
    try {
      ddp::require_equal_parameters(model, *group, "after step 7");
    } catch (const MismatchError& error) {
      messages[rank] = error.what();
    }
  });
  CHECK(std::ranges::all_of(agreed_before, [](bool agreed) { return agreed; }));
  for (const std::string& message : messages) {
    CHECK_THAT(message, ContainsSubstring("2.weight") && ContainsSubstring("rank 2") && ContainsSubstring("step 7"));
  }
}

TEST_CASE("metrics are averaged over the ranks", "[ddp][multirank]") {
  std::vector<double> averages(4);
  run_all(4, [&](comm::JobContext context) {
    const int rank = context.rank;
    const Group group = make_group(std::move(context));
    averages[static_cast<std::size_t>(rank)] = ddp::average_over_ranks(*group, 1.0 + rank);
  });
  CHECK(averages == std::vector<double>(4, 2.5));
}
