#include "data/sentence_piece.hpp"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.hpp"
#include "base/foreign_file.hpp"
#include "base/sha256.hpp"
#include "base/utf8.hpp"
#include "data/sentence_piece_model.hpp"

namespace lockstep::data {
namespace {

// U+2581, SentencePiece's mark for a space inside a piece.
constexpr std::string_view kBlankMark = "\xE2\x96\x81";
constexpr std::size_t kMostTrainingBytes = std::size_t{16} << 20;
constexpr std::int32_t kUnset = -1;

std::string byte_piece(unsigned byte) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  return concat("<0x", kDigits[byte / 16], kDigits[byte % 16], ">");
}

std::string with_blanks(std::string piece) {
  for (std::size_t at = 0; (at = piece.find(kBlankMark, at)) != std::string::npos; ++at) {
    piece.replace(at, kBlankMark.size(), " ");
  }
  return piece;
}

class SentencePieceTokenizer final : public Tokenizer {
 public:
  SentencePieceTokenizer(std::string model, const std::string& name) : model_(std::move(model)) {
    check_sentence_piece_model(model_, name);
    const auto status = processor_.LoadFromSerializedProto(model_);
    if (!status.ok()) throw FormatError(concat(name, " is not a SentencePiece model: ", status.ToString()));
    const int pieces = processor_.GetPieceSize();
    if (pieces < 1) throw FormatError(concat(name, " is a SentencePiece model without pieces"));
    for (int id = 0; id < pieces; ++id) {
      texts_.push_back(text_of(id));
      if (processor_.IsUnknown(id)) unknown_id_ = id;  // unk_id() finds only pieces called <unk>
    }
    for (unsigned byte = 0; byte < byte_ids_.size(); ++byte) byte_ids_[byte] = id_of(byte_piece(byte));
    if (const std::int32_t line_feed = id_of("\n"); line_feed != kUnset) byte_ids_['\n'] = line_feed;
  }

  [[nodiscard]] std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<std::int32_t> ids;
    while (!text.empty()) {
      const std::size_t plain = plain_prefix(text);
      if (plain > 0) append_pieces(text.substr(0, plain), ids);
      if (plain < text.size()) append_byte(text[plain], ids);
      text.remove_prefix(std::min(plain + 1, text.size()));
    }
    return ids;
  }

  [[nodiscard]] std::string decode(std::span<const std::int32_t> ids) const override {
    std::string text;
    for (const std::int32_t id : ids) {
      require(id >= 0 && id < vocabulary_size(), "token ", id, " of a tokenizer with ", vocabulary_size(), " pieces");
      text += texts_[static_cast<std::size_t>(id)];
    }
    return text;
  }

  [[nodiscard]] std::int32_t vocabulary_size() const noexcept override {
    return static_cast<std::int32_t>(texts_.size());
  }
  [[nodiscard]] std::optional<std::int32_t> end_of_text() const noexcept override {
    const int id = processor_.eos_id();
    return id < 0 ? std::nullopt : std::optional<std::int32_t>(id);
  }
  [[nodiscard]] std::string description() const override {
    return concat("SentencePiece with ", texts_.size(), " pieces");
  }
  [[nodiscard]] std::string_view model() const noexcept override { return model_; }

 private:
  [[nodiscard]] std::int32_t id_of(const std::string& piece) const {
    const int id = processor_.PieceToId(piece);
    return processor_.IsUnknown(id) ? kUnset : id;
  }

  [[nodiscard]] std::string text_of(int id) const {
    const std::string& piece = processor_.IdToPiece(id);
    if (processor_.IsControl(id) || processor_.IsUnused(id)) return "";
    if (processor_.IsUnknown(id)) return "\xEF\xBF\xBD";  // U+FFFD, the replacement character
    for (unsigned byte = 0; processor_.IsByte(id) && byte < 256; ++byte) {
      if (piece == byte_piece(byte)) return {static_cast<char>(byte)};
    }
    return with_blanks(piece);
  }

  // The length of the prefix that SentencePiece reads without loss: valid UTF-8 up to a line feed, a zero or its own
  // mark for a space.
  static std::size_t plain_prefix(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size() && text[at] != '\n' && text[at] != '\0' && !text.substr(at).starts_with(kBlankMark)) {
      const std::size_t bytes = utf8_character_bytes(text.substr(at));
      if (bytes == 0) break;
      at += bytes;
    }
    return at;
  }

  void append_pieces(std::string_view plain, std::vector<std::int32_t>& ids) const {
    std::vector<int> pieces;
    const auto status = processor_.Encode(plain, &pieces);
    if (!status.ok()) throw FormatError(concat("SentencePiece cannot encode the text: ", status.ToString()));
    ids.insert(ids.end(), pieces.begin(), pieces.end());
  }

  void append_byte(char byte, std::vector<std::int32_t>& ids) const {
    const std::int32_t id = byte_ids_[static_cast<unsigned char>(byte)];
    ids.push_back(id == kUnset ? unknown_id_ : id);
  }

  std::string model_;
  sentencepiece::SentencePieceProcessor processor_;
  std::int32_t unknown_id_ = kUnset;
  std::vector<std::string> texts_;            // of each id
  std::array<std::int32_t, 256> byte_ids_{};  // of each byte; kUnset if the model has no piece for it
};

// SentencePiece's own, or since 0.2.2 Abseil's.
using Status = decltype(std::declval<const sentencepiece::SentenceIterator&>().status());

// Hands the trainer a text line by line.
class Lines final : public sentencepiece::SentenceIterator {
 public:
  explicit Lines(std::string_view text) : rest_(text) { Next(); }

  [[nodiscard]] bool done() const override { return is_done_; }
  void Next() override {
    is_done_ = rest_.empty();
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));  // + 1: the line feed
  }
  [[nodiscard]] const std::string& value() const override { return line_; }
  [[nodiscard]] Status status() const override { return {}; }

 private:
  std::string_view rest_;
  std::string line_;
  bool is_done_ = false;
};

}  // namespace

std::string train_sentence_piece(std::string_view text, std::int32_t pieces, const std::string& name) {
  if (pieces < kFewestPieces) {
    throw FormatError(concat("a SentencePiece vocabulary of ", pieces, " does not hold the 256 bytes: use at least ",
                             kFewestPieces, " pieces, or the tokenizer 'bytes'"));
  }
  Lines lines(text.substr(0, kMostTrainingBytes));
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train({{"vocab_size", std::to_string(pieces)},
                                                                  {"model_type", "bpe"},
                                                                  {"byte_fallback", "true"},
                                                                  {"normalization_rule_name", "identity"},
                                                                  {"add_dummy_prefix", "false"},
                                                                  {"remove_extra_whitespaces", "false"},
                                                                  {"user_defined_symbols", "\n"},
                                                                  {"bos_id", "-1"},
                                                                  {"eos_id", "-1"},
                                                                  {"pad_id", "-1"},
                                                                  {"max_sentence_length", "65536"},
                                                                  {"num_threads", "1"},
                                                                  {"minloglevel", "2"}},
                                                                 &lines, &model);
  if (!status.ok()) {
    throw FormatError(concat("cannot learn ", pieces, " pieces from ", name, " (", text.size(), " bytes): ",
                             status.ToString(), "; ask for another number with --tokenizer sentencepiece:PIECES"));
  }
  return model;
}

std::shared_ptr<const Tokenizer> sentence_piece_tokenizer(std::string model, const std::string& name) {
  if (const auto foreign = explain_foreign_file(model, name))
    throw FormatError(concat(name, " ", foreign->explanation));
  return std::make_shared<SentencePieceTokenizer>(std::move(model), name);
}

std::shared_ptr<const Tokenizer> sentence_piece_tokenizer(std::string model, const std::string& name,
                                                          const std::string& sha256) {
  const std::string found = sha256_hex(model);
  if (found != sha256) {
    throw FormatError(concat(name, " has SHA-256 ", found, ", but the run was trained with ", sha256,
                             "; restore the file that the run wrote"));
  }
  return sentence_piece_tokenizer(std::move(model), name);
}

}  // namespace lockstep::data
