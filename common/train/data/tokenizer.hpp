#pragma once
/// @file
/// Tokenizers: from text to numbers and back.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::data {

/// Splits text into tokens and numbers them. Thread safety: const calls from any thread at once.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// The tokens of `text`, in order. @throws FormatError  The tokenizer cannot express the text.
  [[nodiscard]] virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;
  /// The text of tokens. @throws ContractError  An id outside [0, vocabulary_size()).
  [[nodiscard]] virtual std::string decode(std::span<const std::int32_t> ids) const = 0;
  /// Every id is in [0, vocabulary_size()); 0 if the tokenizer sets no limit.
  [[nodiscard]] virtual std::int32_t vocabulary_size() const noexcept = 0;
  /// The token that marks the end of a text (EOS), such as GPT-2's `<|endoftext|>`; nothing if there is none.
  [[nodiscard]] virtual std::optional<std::int32_t> end_of_text() const noexcept { return std::nullopt; }
  /// For banners and messages: "bytes", "SentencePiece with 1024 pieces".
  [[nodiscard]] virtual std::string description() const = 0;
  /// The file content from which this tokenizer can be made again; empty if none is needed.
  [[nodiscard]] virtual std::string_view model() const noexcept { return {}; }
};

/// Every byte is a token, numbered by its value: nothing to learn, and any file can be encoded.
[[nodiscard]] std::shared_ptr<const Tokenizer> byte_tokenizer();

/// For tokens whose text is unknown: "464 3290" means two tokens, and two tokens decode to "464 3290".
[[nodiscard]] std::shared_ptr<const Tokenizer> number_tokenizer();

/// A parsed `--tokenizer` option.
struct TokenizerSpec {
  enum class Kind { kBytes, kNumbers, kTrained, kFile };
  Kind kind = Kind::kBytes;
  std::int32_t vocabulary_size = 0;  ///< kTrained: pieces to learn.
  std::string file{};                ///< kFile: a SentencePiece model.
};

/// Pieces that `--tokenizer sentencepiece` learns by default.
inline constexpr std::int32_t kUsualPieces = 1024;

/// Reads "bytes", "numbers", "sentencepiece", "sentencepiece:4000" or "FILE.model".
/// @throws FormatError  None of these; lists them.
[[nodiscard]] TokenizerSpec parse_tokenizer_spec(const std::string& text);

}  // namespace lockstep::data
