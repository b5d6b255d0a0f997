#pragma once
/// @file
/// config.json of a GPT-2, as written by Hugging Face's transformers.
/// @source  huggingface/transformers, src/transformers/models/gpt2/configuration_gpt2.py (names and defaults).
#include <filesystem>
#include <string_view>

#include "nn/gpt.hpp"

namespace lockstep::pretrained {

inline constexpr const char* kConfigFile = "config.json";  ///< Beside the weights.

/// The model sizes in a config.json. Missing entries have transformers' defaults. Dropout is 0; set it to train the
/// model further.
/// @param text  Content of the file. @param path  For messages, and for the model's name.
/// @throws FormatError  Not JSON; not a GPT-2; an invalid size; or a variant that nn::Gpt does not compute (another
///                      activation, MLP width, epsilon or attention): names the entry, its value and the expected one.
[[nodiscard]] nn::GptConfig parse_gpt2_config(std::string_view text, const std::filesystem::path& path);

/// Whether the head has its own weights ("tie_word_embeddings": false).
/// @throws FormatError  Not JSON, or the entry is neither true nor false.
[[nodiscard]] bool has_untied_head(std::string_view text, const std::filesystem::path& path);

}  // namespace lockstep::pretrained
