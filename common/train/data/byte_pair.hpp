#pragma once
/// @file
/// GPT-2's tokenizer: byte-level byte-pair encoding, from the files vocab.json and merges.txt that Hugging Face
/// publishes with the model, or from tokenizer.json, which newer tools write instead.
///
/// A text is split into words (gpt2_split.hpp). Each word begins as its bytes; then the pair of neighbours that comes
/// first in merges.txt is joined, again and again, until no pair is in that list. The remaining pieces are the tokens.
/// Because every byte is a token, any text can be encoded, and decode() restores it byte for byte.
/// @source  Sennrich et al., "Neural Machine Translation of Rare Words with Subword Units", ACL 2016; on bytes: Radford
///          et al., "Language Models are Unsupervised Multitask Learners", 2019, section 2.2.
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "data/tokenizer.hpp"

namespace lockstep::data {

/// The token between two documents. GPT-2 has no other special token, but a model may have been given more.
inline constexpr std::string_view kEndOfText = "<|endoftext|>";

inline constexpr const char* kVocabularyFile = "vocab.json";          ///< {token: number}.
inline constexpr const char* kMergesFile = "merges.txt";              ///< One pair per line, in order of priority.
inline constexpr const char* kAddedTokensFile = "added_tokens.json";  ///< {token: number}; may be missing.

/// Whether `<|endoftext|>` (or an added token) in a text is the special token, as in Hugging Face's GPT2Tokenizer, or
/// ordinary characters, as in OpenAI's encode_ordinary(), for untrusted text.
enum class SpecialTokens { kRecognize, kAsText };

/// The files of a tokenizer.
struct BytePairFiles {
  std::string vocabulary;  ///< Content of vocab.json.
  std::string merges;      ///< Content of merges.txt.
  std::string name;        ///< The files' folder, for messages.
  std::string added = {};  ///< Content of added_tokens.json; empty: there is none.
};

/// Makes the tokenizer. In both files a byte is one character: printable ones of Latin-1 represent themselves, the
/// others are code points from U+0100 on, in order ("Ġ" is a space).
/// @throws FormatError  Malformed files: not JSON, ids that are not 0, 1, 2, ..., a byte that is no token, a pair of
///                      unknown tokens or with an unknown result; added tokens whose ids do not continue the
///                      vocabulary's. Names file, line and token.
/// @cost  encode(): O(bytes log(longest word)); a word that repeats in one text is looked up.
[[nodiscard]] std::shared_ptr<const Tokenizer> byte_pair_tokenizer(
    const BytePairFiles& files, SpecialTokens special_tokens = SpecialTokens::kRecognize);

/// The same for vocab.json, merges.txt and, if present, added_tokens.json in a folder; if it has neither of the first
/// two, for its tokenizer.json.
/// @throws IoError      A file is missing; says which are needed.
/// @throws FormatError  As byte_pair_tokenizer(), or a tokenizer.json for another kind of tokenizer.
[[nodiscard]] std::shared_ptr<const Tokenizer> read_byte_pair_tokenizer(
    const std::filesystem::path& folder, SpecialTokens special_tokens = SpecialTokens::kRecognize);

}  // namespace lockstep::data
