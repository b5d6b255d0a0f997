#pragma once
/// @file
/// The sizes of a GPT, and those that have a name.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::nn {

/// The sizes of a model, and the batch it is usually trained with.
struct GptConfig {
  std::string name = "custom";       ///< As on the command line.
  std::int64_t vocabulary_size = 0;  ///< V
  std::int64_t channels = 0;         ///< C, a multiple of head_count
  std::int64_t head_count = 0;       ///< H
  std::int64_t layer_count = 0;
  std::int64_t context_length = 0;  ///< T, the longest sequence
  std::int64_t batch_size = 0;      ///< Global; a suggestion to trainers, the model does not read it.
  double dropout = 0;  ///< In training, of embeddings, attention probabilities, attention output and MLP output.
  bool activation_checkpointing = false;  ///< Blocks are recomputed in backward instead of stored.

  /// "tiny", "small", "tutorial" or "124m". @throws FormatError  None of these; lists them.
  [[nodiscard]] static GptConfig named(std::string_view name);
  /// The names that named() accepts, smallest first.
  [[nodiscard]] static std::vector<std::string> names();
};

/// @throws ContractError  A size is not positive, channels is no multiple of head_count, or dropout is not in [0, 1).
void require_valid(const GptConfig& config);

}  // namespace lockstep::nn
