#include "00_why_many_gpus/budget.hpp"

#include "base/error.hpp"

namespace lockstep::plan {
namespace {

constexpr double kFloat32Bytes = 4;

double optimizer_values(Optimizer optimizer) noexcept {
  switch (optimizer) {
    case Optimizer::kSgd:
      return 0;
    case Optimizer::kMomentum:
      return 1;
    case Optimizer::kAdam:
      return 2;
  }
  return 0;
}

}  // namespace

const std::map<std::string, Precision>& precisions() {
  static const std::map<std::string, Precision> kWords = {{"fp32", Precision::kFloat32}, {"mixed", Precision::kMixed}};
  return kWords;
}

const std::map<std::string, Optimizer>& optimizers() {
  static const std::map<std::string, Optimizer> kWords = {
      {"sgd", Optimizer::kSgd}, {"momentum", Optimizer::kMomentum}, {"adam", Optimizer::kAdam}};
  return kWords;
}

const std::map<std::string, Recompute>& recomputes() {
  static const std::map<std::string, Recompute> kWords = {
      {"nothing", Recompute::kNothing}, {"attention", Recompute::kAttention}, {"everything", Recompute::kEverything}};
  return kWords;
}

double bytes_per_value(Precision precision) noexcept { return precision == Precision::kMixed ? 2 : kFloat32Bytes; }

double activation_bytes_per_layer(const Model& model, const Training& training, int tensor_ranks) {
  require(tensor_ranks >= 1, "a layer is split among at least 1 rank, not ", tensor_ranks);
  const double value = bytes_per_value(training.precision);
  const double positions = static_cast<double>(model.sequence) * training.micro_batch * model.hidden;  // s b h
  const double scores = static_cast<double>(model.heads) * model.sequence * model.sequence * training.micro_batch;
  if (training.recompute == Recompute::kEverything) return positions * value;

  // Whole on each rank: the inputs of two norms, of attention and of the MLP, and two dropout masks of a byte each.
  const double whole = positions * (4 * value + 2);
  // Split: queries, keys, values, the input of the projection (4 h); the MLP's inner values before and after its
  // activation function (4 h each).
  const double split = positions * 12 * value;
  // Softmax's output, its dropout's output, and that dropout's mask: one per pair of positions and head.
  const double pairs = training.recompute == Recompute::kAttention ? 0 : scores * (2 * value + 1);
  return whole + (split + pairs) / tensor_ranks;
}

MemoryUse memory_use(const Model& model, const Training& training, Sharding sharding, int world_size) {
  require(world_size >= 1, "a job has at least 1 rank, not ", world_size);
  const double shards = world_size;
  const bool is_mixed = training.precision == Precision::kMixed;
  const double value = bytes_per_value(training.precision);

  MemoryUse use;
  use.weights = model.parameters * value / (sharding >= Sharding::kWeights ? shards : 1);
  use.gradients = model.parameters * value / (sharding >= Sharding::kGradients ? shards : 1);
  // Only the optimizer touches the master copy, so it is split together with the optimizer's values.
  const double optimizer_shards = sharding >= Sharding::kOptimizer ? shards : 1;
  use.master_weights = is_mixed ? model.parameters * kFloat32Bytes / optimizer_shards : 0;
  use.optimizer = model.parameters * kFloat32Bytes * optimizer_values(training.optimizer) / optimizer_shards;
  use.activations = model.layers * activation_bytes_per_layer(model, training);
  return use;
}

std::optional<int> smallest_world_size(const Model& model, const Training& training, Sharding sharding,
                                       double usable_bytes) {
  constexpr int kMost = 4096;
  for (int world_size = 1; world_size <= kMost; ++world_size) {
    if (memory_use(model, training, sharding, world_size).total() <= usable_bytes) return world_size;
  }
  return std::nullopt;
}

double training_flops(const Workload& work) noexcept {
  return work.flops_per_parameter_and_token * work.parameters * work.tokens;
}

double speedup(int world_size, double efficiency) {
  require(world_size >= 1, "a job has at least 1 rank, not ", world_size);
  require(efficiency > 0 && efficiency <= 1, "an efficiency lies above 0 and is at most 1, not ", efficiency);
  return world_size == 1 ? 1 : world_size * efficiency;
}

double training_seconds(const Workload& work, int world_size) {
  return training_flops(work) / (work.peak_flops * work.utilisation * speedup(world_size, work.efficiency));
}

}  // namespace lockstep::plan
