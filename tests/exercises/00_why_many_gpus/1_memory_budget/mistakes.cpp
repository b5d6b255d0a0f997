#include "00_why_many_gpus/1_memory_budget/memory_budget.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"one_running_mean", "the optimizer keeps one value per parameter instead of two",
     "AdamW keeps a running mean of the gradient and another one of its square."},
    {"optimizer_in_16_bits", "the optimizer's values take 2 bytes each in mixed precision",
     "Which numbers does mixed precision keep in float32?"},
    {"no_master_weights", "the float32 copy of the weights is missing in mixed precision",
     "An update is often too small to change a 16-bit weight. What does the optimizer add it to?"},
    {"splits_plain_data_parallelism", "everything is divided by the number of ranks, even if nothing is sharded",
     "In plain data parallelism every rank computes with a whole model. What must it keep?"},
    {"one_stage_late", "each part is split one ZeRO stage too late",
     "The enumerator that names a part is the first one that splits it: >= rather than >."},
    {"master_weights_follow_weights", "the master weights are split together with the weights, in ZeRO 3 only",
     "Who uses the master weights: the forward pass or the optimizer?"},
    {"splits_one_part_only", "each ZeRO stage splits only the part that it adds",
     "ZeRO 2 splits the gradients and also everything that ZeRO 1 splits: >= rather than ==."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::plan {

using exercise::is_mistake;

MemoryUse memory_use(double parameters, Precision precision, Sharding sharding, int world_size) {
  const bool is_mixed = precision == Precision::kMixed;
  const double bytes_per_value = is_mixed ? 2 : 4;
  const auto is_split = [&](Sharding first) {
    if (is_mistake("splits_plain_data_parallelism")) return true;
    if (is_mistake("one_stage_late")) return sharding > first;
    if (is_mistake("splits_one_part_only")) return sharding == first;
    return sharding >= first;
  };
  const auto share_from = [&](Sharding first) { return is_split(first) ? parameters / world_size : parameters; };
  MemoryUse use;
  use.weights = bytes_per_value * share_from(Sharding::kWeights);
  use.gradients = bytes_per_value * share_from(Sharding::kGradients);
  if (is_mixed && !is_mistake("no_master_weights")) {
    const bool is_late = is_mistake("master_weights_follow_weights");
    use.master_weights = 4 * share_from(is_late ? Sharding::kWeights : Sharding::kOptimizer);
  }
  use.optimizer = (is_mistake("one_running_mean") ? 1 : 2) *
                  (is_mistake("optimizer_in_16_bits") ? bytes_per_value : 4) * share_from(Sharding::kOptimizer);
  return use;
}

}  // namespace lockstep::plan
