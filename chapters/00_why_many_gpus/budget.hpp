#pragma once
/// @file
/// The needs of training: bytes on each GPU, and hours. Arithmetic only; `memory_budget` and `time_budget` print it.
///
/// Amounts are `double` and in base units (bytes, FLOP, seconds), because products overflow 64-bit integers, and
/// because a budget is an estimate. GB is 10^9 bytes, as on a data sheet.
#include <map>
#include <optional>
#include <string>

namespace lockstep::plan {

/// A GPT-style transformer, as far as a budget needs it. The defaults have the shape of a 7-billion-parameter model.
struct Model {
  double parameters = 7e9;  ///< All weights together.
  int layers = 32;          ///< Transformer layers, L.
  int hidden = 4096;        ///< Channels per position, h.
  int heads = 32;           ///< Attention heads, a.
  int sequence = 1024;      ///< Positions per sample, s.
};

/// Precision of the training's numbers. kFloat32: everything in 4 bytes. kMixed: weights, gradients and activations in
/// 2 bytes, plus a float32 master copy of the weights for the optimizer to update.
enum class Precision { kFloat32, kMixed };

/// How many float32 values the optimizer keeps per parameter: none, one (momentum) or two (mean and variance).
enum class Optimizer { kSgd, kMomentum, kAdam };

/// Which activations are computed again in the backward pass instead of being kept: none; those whose number grows with
/// the square of the sequence (what FlashAttention also avoids); all but the input of each layer.
enum class Recompute { kNothing, kAttention, kEverything };

/// Values that data-parallel ranks split among themselves instead of each keeping a copy: nothing, the optimizer's
/// values (ZeRO 1), also the gradients (ZeRO 2), also the weights (ZeRO 3, FSDP).
enum class Sharding { kNothing, kOptimizer, kGradients, kWeights };

/// Choices by their command-line names: "fp32", "mixed".
[[nodiscard]] const std::map<std::string, Precision>& precisions();
/// "sgd", "momentum", "adam".
[[nodiscard]] const std::map<std::string, Optimizer>& optimizers();
/// "nothing", "attention", "everything".
[[nodiscard]] const std::map<std::string, Recompute>& recomputes();

/// How a model is trained.
struct Training {
  Precision precision = Precision::kFloat32;
  Optimizer optimizer = Optimizer::kAdam;
  Recompute recompute = Recompute::kNothing;
  int micro_batch = 1;  ///< Samples that pass through the model at once, b.
};

/// Bytes on one GPU.
struct MemoryUse {
  double weights = 0;         ///< As the forward and backward passes read them.
  double gradients = 0;       ///< One per weight.
  double master_weights = 0;  ///< The float32 copy in mixed precision.
  double optimizer = 0;       ///< Momentum and variance.
  double activations = 0;     ///< Kept by the forward pass for the backward pass.

  [[nodiscard]] double total() const noexcept { return weights + gradients + master_weights + optimizer + activations; }
};

/// Bytes of one weight, gradient or activation: 4 or 2.
[[nodiscard]] double bytes_per_value(Precision precision) noexcept;

/// Bytes that one layer keeps for the backward pass of one micro-batch.
///
/// Counted value by value, e bytes each, and 1 byte per element of a dropout mask: s b h (16 e + 2) + a s s b (2 e +
/// 1). With e = 2 that is the paper's s b h (34 + 5 a s / h). The embedding and the output layer are extra.
/// @param tensor_ranks  Ranks that split the layer's heads and columns among them, t. The inputs of the two blocks and
///                      of the two norms and two dropout masks stay whole on each rank.
/// @source Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", 2022, sections 4.1 and
///         4.2, table 2.
[[nodiscard]] double activation_bytes_per_layer(const Model& model, const Training& training, int tensor_ranks = 1);

/// Bytes on each GPU when `world_size` of them train with data parallelism, each on its own micro-batch.
/// With kWeights, the weights of the running layers are gathered while they are needed; these are extra.
/// @source Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models", 2020, section 5
///         and figure 1 (for mixed precision with Adam: 16 bytes per parameter).
/// @throws ContractError  world_size < 1.
[[nodiscard]] MemoryUse memory_use(const Model& model, const Training& training, Sharding sharding, int world_size);

/// The smallest number of GPUs, up to 4096, with which each needs at most `usable_bytes`; nothing if there is none.
[[nodiscard]] std::optional<int> smallest_world_size(const Model& model, const Training& training, Sharding sharding,
                                                     double usable_bytes);

/// The amount of work in a training run.
struct Workload {
  double parameters = 7e9;     ///< N.
  double tokens = 140e9;       ///< D: positions seen in training, over all epochs.
  double peak_flops = 312e12;  ///< FLOP per second of one GPU, by its data sheet.
  double utilisation = 0.4;    ///< The share of peak_flops that one GPU reaches on this model.
  double efficiency = 0.9;     ///< Throughput of a GPU among others relative to one alone.
  /// Per parameter and token: 2 forward, 4 backward; 2 more if the forward pass is computed twice.
  double flops_per_parameter_and_token = 6;
};

/// FLOP of the whole run: 6 N D. @source Kaplan et al., "Scaling Laws for Neural Language Models", 2020, section 2.1.
[[nodiscard]] double training_flops(const Workload& work) noexcept;

/// How many times faster `world_size` GPUs are than one: 1 for one, efficiency times `world_size` for more.
/// @throws ContractError  world_size < 1 or efficiency outside (0, 1].
[[nodiscard]] double speedup(int world_size, double efficiency);

/// Seconds of the whole run on `world_size` GPUs.
[[nodiscard]] double training_seconds(const Workload& work, int world_size);

}  // namespace lockstep::plan
