#pragma once
/// @file
/// A model whose forward may take any of its branches, in any order, and the questions its tests ask.
#include <string>
#include <vector>

#include "small_model.hpp"

namespace lockstep::test {

/// Three weights "a", "b", "c" of [2, 2] and a buffer "shift" [2]; loss() applies the chosen ones to the input and adds
/// them up. Backward reaches the one that was applied last first.
class BranchModel : public nn::Module {
 public:
  explicit BranchModel(float first_value = 0.5F) {
    for (const char* name : {"a", "b", "c"}) {
      weights_.push_back(register_parameter(name, tensor_of({first_value, 1, -1, 2}, {2, 2})));
    }
    shift_ = register_buffer("shift", tensor_of({0, 0}, {2}));
  }

  /// @param branches  Indices into the weights, in the order in which forward applies them; a weight may come twice.
  Variable loss(const std::vector<std::size_t>& branches, const std::vector<float>& input = {1, 2}) const {
    const Variable x(tensor_of(input, {1, 2}));
    std::vector<Variable> parts;
    for (const std::size_t branch : branches) parts.push_back(autograd::linear(x, weights_[branch], {}));
    Variable sum = parts.front();
    for (std::size_t i = 1; i < parts.size(); ++i) sum = autograd::add(sum, parts[i]);
    return autograd::mse_loss(sum, tensor_of({0, 0}, {1, 2}));
  }

  Tensor shift() const { return shift_.value(); }

 private:
  std::vector<Variable> weights_;
  nn::Buffer shift_;
};

/// The error of every rank's `rank_main`; empty: none.
inline std::vector<std::string> messages_of(int world_size, const std::function<void(comm::JobContext)>& rank_main) {
  std::vector<std::string> messages;
  for (const RankOutcome& outcome : run_ranks(world_size, rank_main)) messages.push_back(outcome.message());
  return messages;
}

/// Keeps its context, as run::MicroBatch does.
struct Part {
  Tensor features;
  Tensor targets;
  nn::ForwardContext context;
  double weight;
};

/// The rows of a shard as micro-batches of one row.
inline std::vector<Part> row_by_row(const Shard& shard, std::int64_t step = 0) {
  std::vector<Part> parts;
  const std::int64_t rows = shard.features.shape()[0];
  for (std::int64_t row = 0; row < rows; ++row) {
    parts.push_back({shard.features.rows(row, row + 1),
                     shard.targets.rows(row, row + 1),
                     {.step = step},
                     1.0 / static_cast<double>(rows)});
  }
  return parts;
}

}  // namespace lockstep::test
