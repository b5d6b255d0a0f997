#pragma once
/// @file
/// The inputs and results of a training step.
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

/// The results of a step.
struct StepResult {
  double loss = 0;                           ///< Mean over the global batch.
  std::optional<double> gradient_norm = {};  ///< Before clipping; empty or not finite: not shown.
  /// How long this rank was idle, waiting for others; empty: not measured.
  std::optional<std::chrono::nanoseconds> exposed_communication = {};
  double learning_rate = 0;  ///< Used in this step.
  std::int64_t epoch = 0;    ///< From 0.
};

/// The results of an evaluation.
struct Evaluation {
  double loss = 0;                            ///< Mean over all validation samples.
  std::map<std::string, double> scores = {};  ///< Further measurements by name: {"accuracy", 0.93}.
};

/// Whose samples a batch holds.
enum class BatchOf {
  kThisRank,          ///< The rank's own share of the step's batch.
  kAllRanks,          ///< The step's whole batch, the same on every rank; each takes its share.
  kCountedElsewhere,  ///< The share of another rank too, which counts it: both compute parts of the model.
};

/// One backward pass's part of a step's batch.
struct MicroBatch {
  Tensor inputs;
  Tensor targets;
  nn::ForwardContext context;  ///< For the model's forward pass; valid as long as the batch.
  double weight = 1;           ///< Share of the batch's targets: the weight of this part's mean in the batch's mean.
};

/// Cuts a batch into `count` parts as equal as possible, fewer if it has fewer samples.
/// @param batch  Must outlive the parts' contexts.
/// @param seed, step  For the parts' contexts.
[[nodiscard]] std::vector<MicroBatch> split_batch(const data::Batch& batch, std::int64_t count, std::uint64_t seed,
                                                  std::int64_t step);

}  // namespace lockstep::run
