#pragma once
/// @file
/// An optimizer over shards as the optimizer of parts that exercise 09.2 is given.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "09_sharded/2_stage_one/sharded_step.hpp"
#include "09_sharded/sharded_data_parallel.hpp"
#include "nn/module.hpp"
#include "optim/optimizer.hpp"

namespace lockstep::mine {

/// Updates the shards of one unit at a time, which is a bucket of the exercise. An optimizer skips parameters without a
/// gradient, so a unit is updated by a step in which only its shards have one. Order of calls in a training step:
/// begin(), update() once for every unit, end(). Thread safety: one thread.
class UnitOptimizer final : public sharded::PartOptimizer {
 public:
  /// @param model  In stage 1; outlives this object. @param rank  This rank.
  UnitOptimizer(const sharded::ShardedDataParallel& model, int rank);

  /// @param optimizer  Over the model's shards; outlives the step.
  void begin(optim::Optimizer& optimizer, double learning_rate);

  /// @param values, gradients  This rank's part of the unit, or copies of it: then only the copy of the values is
  /// updated.
  /// @throws ContractError  They are not as long as this rank's part, or the values are another part of the unit; there
  ///                        is no such unit, or it has been updated in this step.
  void update(std::size_t unit, std::span<float> values, std::span<const float> gradients) override;

  /// Counts the step in the optimizer. @throws ContractError  A unit has not been updated.
  void end();

 private:
  std::span<const sharded::Unit> units_;
  std::vector<nn::NamedParameter> shards_;
  int rank_;
  // In the current step.
  optim::Optimizer* optimizer_ = nullptr;
  double learning_rate_ = 0;
  optim::StepCounts counts_;      // after it
  std::vector<bool> is_updated_;  // by unit
};

}  // namespace lockstep::mine
