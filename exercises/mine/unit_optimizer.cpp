#include "mine/unit_optimizer.hpp"

#include <algorithm>
#include <functional>

#include "base/error.hpp"

namespace lockstep::mine {
namespace {

bool overlap(std::span<const float> a, std::span<const float> b) {
  const std::less<> before;
  return before(a.data(), b.data() + b.size()) && before(b.data(), a.data() + a.size());
}

}  // namespace

UnitOptimizer::UnitOptimizer(const sharded::ShardedDataParallel& model, int rank)
    : units_(model.units()), shards_(model.shards().named_parameters()), rank_(rank) {}

void UnitOptimizer::begin(optim::Optimizer& optimizer, double learning_rate) {
  optimizer_ = &optimizer;
  learning_rate_ = learning_rate;
  counts_ = optimizer.step_counts();
  ++counts_.steps;
  for (auto& [name, updates] : counts_.fewer) ++updates;
  is_updated_.assign(units_.size(), false);
}

void UnitOptimizer::update(std::size_t index, std::span<float> values, std::span<const float> gradients) {
  require(index < units_.size(), "09.2: update(", index, "): there are ", units_.size(), " buckets, from 0 on");
  const sharded::Unit& unit = units_[index];
  const std::span<float> own_values = unit.own_values.span<float>(), own = unit.own_gradients.span<float>();
  const bool is_in_place = values.data() == own_values.data();
  require(values.size() == own_values.size() && gradients.size() == own.size() &&
              (is_in_place || !overlap(values, unit.values.span<float>())),
          "09.2: update(", index, ") takes rank ", rank_, "'s part of the bucket, ", own.size(), " elements, and got ",
          values.size(), " values and ", gradients.size(), " gradients",
          values.size() == own_values.size() ? " of another part" : "");
  require(!is_updated_[index], "09.2: update(", index, ") has been called twice in one step");
  if (gradients.data() != own.data()) std::ranges::copy(gradients, own.begin());
  for (std::size_t k = 0; k < unit.parameters.size(); ++k) {
    const autograd::Variable& shard = shards_[unit.parameters[k]].parameter;
    shard.adopt_gradient(unit.shard(unit.own_gradients, k, rank_).reshape(shard.shape()));
  }
  if (!is_in_place) std::ranges::swap_ranges(values, own_values);
  optimizer_->step(learning_rate_);
  if (!is_in_place) std::ranges::swap_ranges(values, own_values);  // what is not gathered does not arrive
  for (const std::size_t i : unit.parameters) (void)shards_[i].parameter.release_gradient();
  is_updated_[index] = true;
}

void UnitOptimizer::end() {
  const auto missing = std::ranges::find(is_updated_, false);
  require(missing == is_updated_.end(), "09.2: finish() has not called update(", missing - is_updated_.begin(), ")");
  optimizer_->set_step_counts(counts_);
}

}  // namespace lockstep::mine
