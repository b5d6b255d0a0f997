#pragma once
/// @file
/// What goes into a training step, and what comes out of it.
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.hpp"
#include "nn/module.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::run {

/// What a step came to.
struct StepResult {
  double loss = 0;                           ///< Mean over the global batch.
  std::optional<double> gradient_norm = {};  ///< Before clipping; empty or not finite: not shown.
  /// How long this rank has waited for others, with nothing else to do; empty: not measured.
  std::optional<std::chrono::nanoseconds> exposed_communication = {};
  double learning_rate = 0;  ///< That the step used.
  std::int64_t epoch = 0;    ///< From 0 on.
};

/// What an evaluation came to.
struct Evaluation {
  double loss = 0;                            ///< Mean over all samples of the validation.
  std::map<std::string, double> scores = {};  ///< What else was measured, by name: {"accuracy", 0.93}.
};

/// Whose samples a batch holds.
enum class BatchOf {
  kThisRank,  ///< The rank's own share of the step's batch.
  kAllRanks,  ///< The step's whole batch, the same on every rank, from which each takes its share.
};

/// What one backward pass takes of a step's batch.
struct MicroBatch {
  Tensor inputs;               ///< Rows of the batch's inputs.
  Tensor targets;              ///< Rows of the batch's targets.
  nn::ForwardContext context;  ///< What the model's forward pass needs; valid as long as the batch.
  double weight = 1;           ///< Share of the batch's targets: what this part's mean counts in the batch's mean.
};

/// Cuts a batch into `count` parts as equal as can be, fewer if it has fewer samples.
/// @param batch  Outlives the parts' contexts.
/// @param seed, step  Of the parts' contexts.
[[nodiscard]] std::vector<MicroBatch> split_batch(const data::Batch& batch, std::int64_t count, std::uint64_t seed,
                                                  std::int64_t step);

}  // namespace lockstep::run
