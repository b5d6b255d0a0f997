#pragma once
/// @file
/// What the tests of DistributedDataParallel share: PyTorch's recorded model and data, ranks, small tensors.
#include <cmath>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "02_ring_all_reduce/shared_memory/shared_memory_process_group.hpp"
#include "06_gpt_ddp/distributed_data_parallel.hpp"
#include "autograd/functions.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "support/catch.hpp"
#include "support/run_ranks.hpp"

namespace lockstep::test {

using autograd::Variable;

inline Tensor tensor_of(const std::vector<float>& values, const Shape& shape) {
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

inline const nlohmann::json& recorded() {
  static const nlohmann::json values = parse_json(read_file(LOCKSTEP_TEST_DATA "/pytorch_ddp.json"));
  return values;
}

struct Shard {
  Tensor features;  // [3, 3]
  Tensor targets;   // [3, 2]
};

inline Shard shard_of(int rank) {
  const auto features = tensor_of(recorded().at("features").get<std::vector<float>>(), {6, 3});
  const auto targets = tensor_of(recorded().at("targets").get<std::vector<float>>(), {6, 2});
  return {features.rows(3 * rank, 3 * rank + 3).clone(), targets.rows(3 * rank, 3 * rank + 3).clone()};
}

inline std::vector<float> all_gradients(const nn::Module& model) {
  std::vector<float> all;
  for (const Variable& parameter : model.parameters()) {
    for (const float value : parameter.gradient().span<float>()) all.push_back(value);
  }
  return all;
}

using Group = std::unique_ptr<comm::ProcessGroup>;
inline Group make_group(comm::JobContext context) { return ring::make_shared_memory_process_group(std::move(context)); }

// Runs the ranks and lets the test fail with the message of the first that threw.
inline void run_all(int world_size, const std::function<void(comm::JobContext)>& rank_main) {
  for (const RankOutcome& outcome : run_ranks(world_size, rank_main)) REQUIRE(outcome.message() == "");
}

// Every parameter in a bucket of its own: the hardest order of leaving.
inline const ddp::DdpOptions kOneEach{.bucket_limits = {.first_bytes = 1, .bytes = 1}};

}  // namespace lockstep::test
