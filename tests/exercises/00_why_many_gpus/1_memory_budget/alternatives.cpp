#include "exercise/alternatives.hpp"

#include "00_why_many_gpus/1_memory_budget/memory_budget.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"table_of_bytes", "the bytes per parameter are in a table, and one division is made for each kind of number"},
    {"total_bytes_first", "everything is counted as on one rank, and what is split is divided at the end"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::plan {

using exercise::is_alternative;

MemoryUse memory_use(double parameters, Precision precision, Sharding sharding, int world_size) {
  const bool is_mixed = precision == Precision::kMixed;
  const double ranks = world_size;
  if (is_alternative("table_of_bytes")) {
    constexpr double kBytes[2][4] = {{4, 4, 0, 8}, {2, 2, 4, 8}};  // weights, gradients, master weights, optimizer
    const double* const bytes = kBytes[is_mixed ? 1 : 0];
    const auto keeps_all = [&](Sharding last) { return sharding < last; };
    return {bytes[0] * (parameters / (keeps_all(Sharding::kWeights) ? 1 : ranks)),
            bytes[1] * (parameters / (keeps_all(Sharding::kGradients) ? 1 : ranks)),
            bytes[2] * (parameters / (keeps_all(Sharding::kOptimizer) ? 1 : ranks)),
            bytes[3] * (parameters / (keeps_all(Sharding::kOptimizer) ? 1 : ranks))};
  }
  MemoryUse use{
      .weights = 4 * parameters, .gradients = 4 * parameters, .master_weights = 0, .optimizer = 8 * parameters};
  if (is_mixed) {
    use.master_weights = use.weights;
    use.weights /= 2;
    use.gradients /= 2;
  }
  switch (sharding) {
    case Sharding::kWeights:
      use.weights /= ranks;
      [[fallthrough]];
    case Sharding::kGradients:
      use.gradients /= ranks;
      [[fallthrough]];
    case Sharding::kOptimizer:
      use.master_weights /= ranks;
      use.optimizer /= ranks;
      break;
    case Sharding::kNothing:
      break;
  }
  return use;
}

}  // namespace lockstep::plan
