#include "fuzz/data_targets.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/utf8.hpp"
#include "data/byte_pair.hpp"
#include "data/sentence_piece.hpp"
#include "data/token_file_header.hpp"
#include "data/tokenizer.hpp"
#include "net/bytes.hpp"

namespace lockstep::fuzz {
namespace {

// The three numbers of a token file's header, before its zeros.
constexpr std::size_t kNumberBytes = 12;

void check_header(std::span<const std::byte> header, std::int64_t file_bytes) {
  try {
    const std::int64_t count = data::parse_token_file_header(header, file_bytes, "file");
    finding_unless(count >= 1 && count <= data::kMostTokensOfFile, "a token count out of range was accepted");
    finding_unless(file_bytes == data::kTokenFileHeaderBytes + 2 * count, "a file of another size was accepted");
    const std::vector<std::byte> again = data::token_file_header(count);
    finding_unless(std::ranges::equal(header.first(kNumberBytes), std::span(again).first(kNumberBytes)),
                   "a header reads as what it is not");
  } catch (const FormatError&) {
  }
}

// A field of SentencePiece's ModelProto with a length, which is below 128 in all seeds.
std::string field(int number, const std::string& bytes) {
  return concat(static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size()), bytes);
}

std::string number_field(int number, int value) {
  return concat(static_cast<char>(number << 3), static_cast<char>(value));
}

std::string piece(const std::string& text, int type) {
  return field(1, field(1, text) + std::string("\x15\0\0\0\0", 5) + number_field(3, type));
}

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = net::as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

// A token file as it is, and the same bytes as the numbers of a header with a file size that is theirs to choose.
void run_token_file(Input input) {
  check_header(input.first(std::min<std::size_t>(input.size(), data::kTokenFileHeaderBytes)),
               static_cast<std::int64_t>(input.size()));
  if (input.size() < kNumberBytes + sizeof(std::int64_t)) return;
  std::vector<std::byte> header(static_cast<std::size_t>(data::kTokenFileHeaderBytes));
  std::ranges::copy(input.first(kNumberBytes), header.begin());
  std::uint64_t file_bytes = 0;
  for (const std::byte byte : input.subspan(kNumberBytes, sizeof(std::int64_t))) {
    file_bytes = file_bytes << 8 | std::to_integer<std::uint64_t>(byte);
  }
  check_header(header, static_cast<std::int64_t>(file_bytes));
}

Seeds token_file_seeds() {
  Seeds seeds;
  for (const std::int64_t count : {std::int64_t{1}, std::int64_t{300}, data::kMostTokensOfFile}) {
    std::vector<std::byte> seed = data::token_file_header(count);
    seed.resize(kNumberBytes);
    const std::int64_t file_bytes = data::kTokenFileHeaderBytes + 2 * count;
    for (int shift = 56; shift >= 0; shift -= 8) seed.push_back(static_cast<std::byte>(file_bytes >> shift & 0xFF));
    seeds.push_back(seed);
  }
  seeds.push_back(data::token_file_header(7));
  return seeds;
}

// Any bytes as a model: refused, or a tokenizer that keeps its promises. SentencePiece's parser is inside.
void run_tokenizer_model(Input input) {
  try {
    const std::string model = net::to_text(input);
    const auto tokenizer = data::sentence_piece_tokenizer(model, "model");
    finding_unless(tokenizer->vocabulary_size() >= 1, "a tokenizer without pieces was accepted");
    finding_unless(tokenizer->model() == model, "the model is not kept as it is");
    const std::vector<std::int32_t> ids = tokenizer->encode("a b\n\xC3\xB6 \xFF" + model.substr(0, 100));
    for (const std::int32_t id : ids) {
      finding_unless(id >= 0 && id < tokenizer->vocabulary_size(), "an id that the tokenizer does not have");
    }
    (void)tokenizer->decode(ids);
  } catch (const FormatError&) {
  }
}

Seeds tokenizer_model_seeds() {
  constexpr int kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kByte = 6, kUnigram = 1, kBpe = 2;
  const std::string pieces = piece("<unk>", kUnknown) + piece("a", kNormal) + piece("\xE2\x96\x81", kNormal) +
                             piece(
                                 "\xE2\x96\x81"
                                 "a",
                                 kNormal);
  const std::string identity = field(3, field(1, "identity") + number_field(3, 0) + number_field(4, 0));
  const std::string unigram = field(2, number_field(3, kUnigram)), bpe = field(2, number_field(3, kBpe));
  return {bytes_of(pieces + bpe + identity), bytes_of(pieces + unigram + identity),
          bytes_of(pieces + piece("\n", kUserDefined) + piece("<s>", kControl) + bpe + identity),
          bytes_of(pieces + piece("<0x0A>", kByte) + bpe), bytes_of(pieces)};
}

namespace {

// vocab.json of the 256 bytes and of `more`; a byte that Latin-1 does not print is a character from U+0100 on.
std::string byte_vocabulary(const std::string& more) {
  std::string json = "{";
  int next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const bool is_printed = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    const int code_point = is_printed ? byte : next++;
    const bool is_escaped = code_point == '"' || code_point == '\\';
    json += is_escaped ? "\"\\" : "\"";
    if (code_point >= 0x80) json += static_cast<char>(0xC0 | code_point >> 6);
    json += static_cast<char>(code_point < 0x80 ? code_point : 0x80 | (code_point & 0x3F));
    json += concat("\":", byte, ",");
  }
  return json + more + "}";
}

}  // namespace

// Any two texts, with a zero between them, as vocab.json and merges.txt: refused, or a tokenizer that loses nothing.
void run_byte_pair_files(Input input) {
  const std::string files = net::to_text(input);
  const std::size_t zero = std::min(files.find('\0'), files.size());
  const std::string merges = zero < files.size() ? files.substr(zero + 1) : "";
  try {
    const auto tokenizer = data::byte_pair_tokenizer({files.substr(0, zero), merges, "folder"});
    const std::string text = "a the\n\xC3\xB6 \xFF<|endoftext|>" + files.substr(0, 100);
    const std::vector<std::int32_t> ids = tokenizer->encode(text);
    for (const std::int32_t id : ids) {
      finding_unless(id >= 0 && id < tokenizer->vocabulary_size(), "an id that the tokenizer does not have");
    }
    finding_unless(tokenizer->decode(ids) == text, "a text does not come back from its tokens");
  } catch (const FormatError&) {
  }
}

Seeds byte_pair_files_seeds() {
  const std::string zero(1, '\0');
  return {
      bytes_of(byte_vocabulary("\"th\":256,\"the\":257,\"<|endoftext|>\":258") + zero + "#version: 0.2\nt h\nth e\n"),
      bytes_of(byte_vocabulary("\"\xC4\xA0t\":256") + zero + "\xC4\xA0 t\r\n"), bytes_of(R"({"a":0})"),
      bytes_of(R"({"a":0,"b":0})" + zero + "a b"), bytes_of("[[[[")};
}

// Any bytes as a text, as a tokenizer's name and as token numbers.
void run_tokenizer_text(Input input) {
  static const auto kTokenizer =
      data::sentence_piece_tokenizer(data::train_sentence_piece("the ring of the ranks\n", 275, "text"), "model");
  const std::string text = net::to_text(input);
  finding_unless(kTokenizer->decode(kTokenizer->encode(text)) == text, "a text does not come back from its tokens");
  static const auto kBytePairs = data::byte_pair_tokenizer(
      {byte_vocabulary("\"th\":256,\"the\":257,\"<|endoftext|>\":258"), "t h\nth e\n", "folder"});
  finding_unless(kBytePairs->decode(kBytePairs->encode(text)) == text, "a text does not come back from byte pairs");
  finding_unless(utf8_character_bytes(text) <= text.size(), "a character is longer than its text");
  try {
    (void)data::parse_tokenizer_spec(text);
  } catch (const FormatError&) {
  }
  try {
    const auto numbers = data::number_tokenizer();
    const std::vector<std::int32_t> ids = numbers->encode(text);
    finding_unless(numbers->encode(numbers->decode(ids)) == ids, "numbers do not come back");
  } catch (const FormatError&) {
  }
}

Seeds tokenizer_text_seeds() {
  return {bytes_of("the ring \xE2\x96\x81 \xC3\xB6\n\n\xFF"), bytes_of("sentencepiece:300"), bytes_of("15 27 0"),
          bytes_of("a/b.model"), bytes_of("numbers")};
}

}  // namespace lockstep::fuzz
