#include "00_why_many_gpus/1_memory_budget/memory_budget.hpp"

namespace lockstep::plan {

MemoryUse memory_use(double parameters, Precision precision, Sharding sharding, int world_size) {
  MemoryUse use;
  // SOLUTION(00.1) memory_use: fill in the four numbers of `use`
  const double bytes_per_value = precision == Precision::kMixed ? 2 : 4;
  const auto share_from = [&](Sharding first) { return sharding >= first ? parameters / world_size : parameters; };
  use.weights = bytes_per_value * share_from(Sharding::kWeights);
  use.gradients = bytes_per_value * share_from(Sharding::kGradients);
  use.master_weights = precision == Precision::kMixed ? 4 * share_from(Sharding::kOptimizer) : 0;
  use.optimizer = 2 * 4 * share_from(Sharding::kOptimizer);
  // END SOLUTION
  return use;
}

}  // namespace lockstep::plan
