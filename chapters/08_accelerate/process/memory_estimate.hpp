#pragma once
/// @file
/// The memory that training a GPT needs on each rank, computed in advance; find_executable_batch_size() tries instead.
#include <cstdint>
#include <string>
#include <vector>

#include "00_why_many_gpus/budget.hpp"
#include "nn/gpt.hpp"

namespace lockstep::accelerate {

/// A published size of GPT-2.
struct PublishedModel {
  std::string name;       ///< "350m"
  std::string full_name;  ///< Hugging Face's: "gpt2-medium".
  nn::GptConfig config;   ///< With batch_size 1.
};

/// GPT-2's four sizes, smallest first. @source  Radford et al., 2019, table 2, and the config.json of the files that
/// Hugging Face publishes. (The paper counts 117, 345, 762 and 1542 million parameters; the files have more.)
[[nodiscard]] const std::vector<PublishedModel>& published_models();

/// The sizes of the model that `model` names: one of nn::GptConfig::names() or published_models(); or a folder, either
/// with a config.json of Hugging Face's GPT-2, or a run or checkpoint of train_gpt_*.
/// @throws UsageError           Neither; lists the names.
/// @throws IoError, FormatError  The folder's files cannot be read, or describe another model.
[[nodiscard]] nn::GptConfig find_model_sizes(const std::string& model);

/// The model to train, and how.
struct EstimateRequest {
  nn::GptConfig config;         ///< With activation_checkpointing as intended.
  std::int64_t batch_size = 1;  ///< Samples that pass through the model at once on a rank: its micro-batch, B.
  std::int64_t context = 0;     ///< Positions per sample, T; 0: config.context_length.
  bool is_half = false;         ///< Activations and products in 2 bytes (bf16 or fp16) instead of 4.
  int world_size = 1;           ///< Ranks, N.
};

/// Bytes on each rank.
struct RankMemory {
  double values = 0;       ///< The parameters in float32.
  double half_values = 0;  ///< The weight matrices once more in 2 bytes, for mixed precision.
  double gradients = 0;    ///< In float32, one per parameter.
  double moments = 0;      ///< AdamW's mean and variance, in float32.
  double units = 0;        ///< Values and gradients that are whole for a moment, with kGradients and kWeights.
  double activations = 0;  ///< Their peak: kept by forward for backward, plus the largest operation's.

  [[nodiscard]] double total() const noexcept {
    return values + half_values + gradients + moments + units + activations;
  }
};

/// Memory on each of request.world_size ranks that train with AdamW.
///
/// Parameters, by bytes per parameter (N ranks; with mixed precision the 2 are for weight matrices only), without
/// RankMemory::units:
///
/// | sharding                 | float32  | mixed precision |
/// |--------------------------|----------|-----------------|
/// | kNothing (alone, or DDP) | 16       | 18              |
/// | kOptimizer (ZeRO 1)      | 8 + 8/N  | 6 + 12/N        |
/// | kGradients (ZeRO 2)      | 4 + 12/N | 2 + 16/N        |
/// | kWeights (ZeRO 3, FSDP)  | 16/N     | 16/N            |
///
/// nn::training_memory() says what is counted, and what is not. The mixed precision of ZeRO 1 and 2 splits the float32
/// values too; chapter 09 keeps them whole.
/// @throws ContractError  As nn::training_memory().
[[nodiscard]] RankMemory estimate_memory(const EstimateRequest& request, plan::Sharding sharding);

}  // namespace lockstep::accelerate
