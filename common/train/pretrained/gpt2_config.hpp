#pragma once
/// @file
/// config.json of a GPT-2, as Hugging Face's transformers write it.
/// @source  huggingface/transformers, src/transformers/models/gpt2/configuration_gpt2.py (names and defaults).
#include <filesystem>
#include <string_view>

#include "nn/gpt.hpp"

namespace lockstep::pretrained {

inline constexpr const char* kConfigFile = "config.json";  ///< Beside the weights.

/// The sizes of the model that a config.json describes. What the file leaves out has transformers' default. Dropout is
/// 0: who trains the model on sets another.
/// @param text  Content of the file. @param path  For messages, and for the model's name.
/// @throws FormatError  Not JSON; not a GPT-2; a size that is none; or a variant that nn::Gpt does not compute (another
///                      activation, width of the MLP, epsilon or attention): names the entry, what it is and should be.
[[nodiscard]] nn::GptConfig parse_gpt2_config(std::string_view text, const std::filesystem::path& path);

/// Whether the file says that the head has weights of its own ("tie_word_embeddings": false).
/// @throws FormatError  Not JSON, or the entry is neither true nor false.
[[nodiscard]] bool has_untied_head(std::string_view text, const std::filesystem::path& path);

}  // namespace lockstep::pretrained
