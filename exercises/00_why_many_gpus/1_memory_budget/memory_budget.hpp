#pragma once
/// @file
/// Given: what the memory budget of exercise 00.1 is asked, and what it answers.
#include "exercise/todo.hpp"

namespace lockstep::plan {

/// In how many bytes training keeps a number. kFloat32: all numbers in 4 bytes. kMixed: weights and gradients in 2
/// bytes; beside them a float32 copy of the weights, the master weights, which the optimizer updates.
enum class Precision { kFloat32, kMixed };

/// The parts that are split among the ranks, so that each keeps 1/world_size of it. The enumerators are in order: each
/// splits what the one before it splits, and one thing more. Everything else is copied to every rank.
enum class Sharding {
  kNothing,    ///< Plain data parallelism.
  kOptimizer,  ///< ZeRO 1: AdamW's running means and the master weights.
  kGradients,  ///< ZeRO 2: also the gradients.
  kWeights     ///< ZeRO 3: also the weights.
};

/// Bytes on one rank. They are `double`, as everywhere in this chapter: a budget is an estimate, and a share may end in
/// a fraction of a byte.
struct MemoryUse {
  double weights = 0;         ///< Read by the forward and the backward pass.
  double gradients = 0;       ///< One per weight.
  double master_weights = 0;  ///< The float32 copy of the weights; 0 with kFloat32.
  double optimizer = 0;       ///< AdamW's two running means, always float32.
};

/// Bytes that training with AdamW keeps on each rank, without activations.
///
/// @param parameters  How many weights the model has.
/// @param precision   In how many bytes they are kept.
/// @param sharding    The data that is split among the ranks.
/// @param world_size  How many ranks train together; at least 1.
[[nodiscard]] MemoryUse memory_use(double parameters, Precision precision, Sharding sharding, int world_size);

}  // namespace lockstep::plan
