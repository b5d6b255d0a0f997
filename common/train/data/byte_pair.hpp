#pragma once
/// @file
/// GPT-2's tokenizer: byte-level byte-pair encoding, from the files vocab.json and merges.txt that Hugging Face
/// publishes with the model, or from tokenizer.json, which newer tools write in their place.
///
/// A text is cut into words (gpt2_split.hpp). Each word begins as its bytes; then the pair of neighbours that comes
/// first in merges.txt is joined, again and again, until no neighbours are in that list. What is left are the tokens.
/// Because every byte is a token, any text can be written, and decode() gives it back byte for byte.
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

inline constexpr const char* kVocabularyFile = "vocab.json";  ///< {token: number}.
inline constexpr const char* kMergesFile = "merges.txt";      ///< A pair per line, the first to be joined first.
inline constexpr const char* kAddedTokensFile =
    "added_tokens.json";  ///< {token: number} of later tokens; may be missing.

/// What the characters `<|endoftext|>` (or of an added token) in a text are: the special token, as Hugging Face's
/// GPT2Tokenizer reads them, or characters like any others, as OpenAI's encode_ordinary() does, for texts of strangers.
enum class SpecialTokens { kRecognize, kAsText };

/// What a tokenizer is made of.
struct BytePairFiles {
  std::string vocabulary;  ///< Content of vocab.json.
  std::string merges;      ///< Content of merges.txt.
  std::string name;        ///< What messages call the two: their folder.
  std::string added = {};  ///< Content of added_tokens.json; empty: there is none.
};

/// Makes the tokenizer. In both files a byte is one character: printable ones of Latin-1 stand for themselves, the
/// others for the code points from U+0100 on, in their order ("Ġ" is a space).
/// @throws FormatError  Not such files: not JSON, numbers that are not 0, 1, 2, ..., a byte that is no token, a pair
///                      that is not of tokens or does not make one; added tokens whose numbers do not follow those of
///                      the vocabulary. Names file, line and token.
/// @cost  encode(): O(bytes log(longest word)); a word that comes again in one text is looked up.
[[nodiscard]] std::shared_ptr<const Tokenizer> byte_pair_tokenizer(
    const BytePairFiles& files, SpecialTokens special_tokens = SpecialTokens::kRecognize);

/// The same for vocab.json, merges.txt and, if it is there, added_tokens.json in a folder; if it has neither of the
/// first two, for its tokenizer.json.
/// @throws IoError      A file is missing; says which are needed.
/// @throws FormatError  As byte_pair_tokenizer(), or a tokenizer.json of another kind of tokenizer.
[[nodiscard]] std::shared_ptr<const Tokenizer> read_byte_pair_tokenizer(
    const std::filesystem::path& folder, SpecialTokens special_tokens = SpecialTokens::kRecognize);

}  // namespace lockstep::data
