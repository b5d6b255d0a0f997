#pragma once
/// @file
/// tokenizer.json, the single file in which newer tools store a tokenizer. Internal to this module.
/// @source  huggingface/tokenizers, tokenizers/src/models/bpe/serialization.rs and pre_tokenizers/byte_level.rs.
#include <string>
#include <string_view>

#include "data/byte_pair.hpp"

namespace lockstep::data {

inline constexpr const char* kTokenizerJsonFile = "tokenizer.json";  ///< Replaces vocab.json and merges.txt.

/// Converts it to the three files of a byte-level BPE.
/// @param folder  Of the file, for messages.
/// @throws FormatError  Another kind of tokenizer: names it and the supported kind.
[[nodiscard]] BytePairFiles files_from_tokenizer_json(std::string_view text, const std::string& folder);

}  // namespace lockstep::data
