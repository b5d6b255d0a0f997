#include "data/tokenizer.hpp"

#include <algorithm>
#include <charconv>

#include "base/error.hpp"
#include "base/nearest_match.hpp"
#include "data/text.hpp"

namespace lockstep::data {
namespace {

constexpr std::string_view kTrainedPrefix = "sentencepiece:";

class ByteTokenizer final : public Tokenizer {
 public:
  [[nodiscard]] std::vector<std::int32_t> encode(std::string_view text) const override { return encode_bytes(text); }
  [[nodiscard]] std::string decode(std::span<const std::int32_t> ids) const override { return decode_bytes(ids); }
  [[nodiscard]] std::int32_t vocabulary_size() const noexcept override { return kByteVocabularySize; }
  [[nodiscard]] std::string description() const override { return "bytes"; }
};

// Parses all of `text` as a number of at least 0; -1 if it is none.
std::int32_t parse_number(std::string_view text) {
  std::int32_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : -1;
}

class NumberTokenizer final : public Tokenizer {
 public:
  [[nodiscard]] std::vector<std::int32_t> encode(std::string_view text) const override {
    constexpr std::string_view kBlanks = " \t\n";
    std::vector<std::int32_t> ids;
    for (std::size_t at = text.find_first_not_of(kBlanks); at != std::string_view::npos;) {
      const std::size_t end = std::min(text.find_first_of(kBlanks, at), text.size());
      const std::string_view word = text.substr(at, end - at);
      ids.push_back(parse_number(word));
      if (ids.back() < 0) {
        throw FormatError(concat("'", word,
                                 "' is not a token number, and the text of these tokens is not known: write ",
                                 "numbers such as '15 27', or name their tokenizer with --tokenizer FILE.model"));
      }
      at = text.find_first_not_of(kBlanks, end);
    }
    return ids;
  }

  [[nodiscard]] std::string decode(std::span<const std::int32_t> ids) const override {
    std::string text;
    for (const std::int32_t id : ids) text += (text.empty() ? "" : " ") + std::to_string(id);
    return text;
  }

  [[nodiscard]] std::int32_t vocabulary_size() const noexcept override { return 0; }
  [[nodiscard]] std::string description() const override { return "token numbers"; }
};

}  // namespace

std::shared_ptr<const Tokenizer> byte_tokenizer() { return std::make_shared<ByteTokenizer>(); }
std::shared_ptr<const Tokenizer> number_tokenizer() { return std::make_shared<NumberTokenizer>(); }

TokenizerSpec parse_tokenizer_spec(const std::string& text) {
  using Kind = TokenizerSpec::Kind;
  if (text == "bytes") return {.kind = Kind::kBytes};
  if (text == "numbers") return {.kind = Kind::kNumbers};
  if (text == "sentencepiece") return {.kind = Kind::kTrained, .vocabulary_size = kUsualPieces};
  if (text.starts_with(kTrainedPrefix)) {
    const std::int32_t pieces = parse_number(std::string_view(text).substr(kTrainedPrefix.size()));
    if (pieces < 1) throw FormatError(concat("'", text, "': how many pieces? For example sentencepiece:4000"));
    return {.kind = Kind::kTrained, .vocabulary_size = pieces};
  }
  if (text.ends_with(".model")) return {.kind = Kind::kFile, .file = text};
  const std::vector<std::string> names{"bytes", "numbers", "sentencepiece"};
  throw FormatError(concat("there is no tokenizer '", text, "'", did_you_mean(text, names),
                           " (bytes, numbers, sentencepiece, sentencepiece:PIECES, FILE.model)"));
}

}  // namespace lockstep::data
