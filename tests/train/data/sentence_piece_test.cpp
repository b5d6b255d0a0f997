#include "data/sentence_piece.hpp"

#include "base/error.hpp"
#include "base/philox.hpp"
#include "base/sha256.hpp"
#include "base/utf8.hpp"
#include "data/text.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::data;

namespace {

std::string sample_text() {
  const std::vector<std::string> words{"gradient", "ring", "rank", "bucket", "broadcast", "reduce", "the", "of", "a"};
  PhiloxSequence random(5);
  std::string text;
  for (int i = 0; i < 3000; ++i) {
    text += words[random.next_below(words.size())];
    text += random.next_below(9) == 0 ? ".\n" : " ";
  }
  return text;
}

const std::string& trained_model() {
  static const std::string model = train_sentence_piece(sample_text(), 290, "sample");
  return model;
}

}  // namespace

TEST_CASE("a trained tokenizer gives back any bytes, also such as are no text", "[data][tokenizer]") {
  const auto tokenizer = sentence_piece_tokenizer(trained_model(), "sample");
  CHECK(tokenizer->vocabulary_size() == 290);
  std::string every_byte;
  for (int byte = 0; byte < 256; ++byte) every_byte += static_cast<char>(byte);
  std::string random_bytes;
  PhiloxSequence random(9);
  for (int i = 0; i < 5000; ++i) random_bytes += static_cast<char>(random.next_below(256));
  for (const std::string& text :
       {sample_text(), every_byte, random_bytes, std::string(), std::string("\n\n"), std::string("  two  blanks  "),
        std::string("Zw\xC3\xB6lf \xE2\x82\xAC \xF0\x9F\x90\x9A"), std::string("mark \xE2\x96\x81 itself"),
        std::string("cut \xE2\x82"), std::string("<0x41><unk>\t\r\n"), std::string("zero \0 inside", 13)}) {
    const std::vector<std::int32_t> ids = tokenizer->encode(text);
    CHECK(tokenizer->decode(ids) == text);
    for (const std::int32_t id : ids) CHECK((id >= 0 && id < 290));
  }
}

TEST_CASE("pieces are longer than bytes on the text they were learned from", "[data][tokenizer]") {
  const std::string text = sample_text();
  const auto tokenizer = sentence_piece_tokenizer(trained_model(), "sample");
  // 32 learned pieces (290 without 256 bytes, unknown and line feed) already save three tokens in ten.
  CHECK(tokenizer->encode(text).size() * 10 < text.size() * 7);
}

TEST_CASE("equal texts give equal models, so that training is repeatable", "[data][tokenizer]") {
  CHECK(train_sentence_piece(sample_text(), 290, "again") == trained_model());
  CHECK(train_sentence_piece(sample_text(), 280, "fewer") != trained_model());
}

TEST_CASE("a vocabulary that the text cannot yield, or that cannot hold the bytes, is an error with its number",
          "[data][tokenizer]") {
  CHECK_THROWS_WITH(train_sentence_piece(sample_text(), 258, "sample"),
                    ContainsSubstring("vocabulary of 258") && ContainsSubstring("at least 259"));
  CHECK_THROWS_WITH(train_sentence_piece("a b a b a b\n", 5000, "short.txt"),
                    ContainsSubstring("5000 pieces from short.txt") && ContainsSubstring("sentencepiece:PIECES"));
  CHECK_THROWS_AS(train_sentence_piece("", 300, "empty.txt"), FormatError);
}

TEST_CASE("bytes that are no model, and a model that is not the run's, are errors that name the file",
          "[data][tokenizer]") {
  CHECK_THROWS_WITH(sentence_piece_tokenizer("", "a.model"), ContainsSubstring("a.model"));
  CHECK_THROWS_WITH(sentence_piece_tokenizer("not a model", "a.model"), ContainsSubstring("a.model"));
  CHECK_THROWS_AS(sentence_piece_tokenizer(trained_model().substr(0, 500), "a.model"), FormatError);
  const std::string checksum = sha256_hex(trained_model());
  CHECK(sentence_piece_tokenizer(trained_model(), "a.model", checksum)->model() == trained_model());
  std::string changed = trained_model();
  changed[changed.size() / 2] ^= 1;
  CHECK_THROWS_WITH(sentence_piece_tokenizer(changed, "a.model", checksum),
                    ContainsSubstring(checksum) && ContainsSubstring(sha256_hex(changed)));
}

TEST_CASE("ids that a tokenizer does not have are a caller's error", "[data][tokenizer]") {
  const auto tokenizer = sentence_piece_tokenizer(trained_model(), "sample");
  const std::vector<std::int32_t> beyond{290}, negative{-1};
  CHECK_THROWS_AS(tokenizer->decode(beyond), ContractError);
  CHECK_THROWS_AS(tokenizer->decode(negative), ContractError);
}

TEST_CASE("token numbers read and print as numbers", "[data][tokenizer]") {
  const auto tokenizer = number_tokenizer();
  CHECK(tokenizer->encode(" 464  3290\n0 ") == std::vector<std::int32_t>{464, 3290, 0});
  const std::vector<std::int32_t> ids{15, 27};
  CHECK(tokenizer->decode(ids) == "15 27");
  CHECK_THROWS_WITH(tokenizer->encode("The cat"), ContainsSubstring("'The'") && ContainsSubstring("--tokenizer"));
  CHECK_THROWS_AS(tokenizer->encode("-3"), FormatError);
}

TEST_CASE("a tokenizer is asked for by name, and a misspelt one is answered with the right one", "[data][tokenizer]") {
  using Kind = TokenizerSpec::Kind;
  CHECK(parse_tokenizer_spec("bytes").kind == Kind::kBytes);
  CHECK(parse_tokenizer_spec("numbers").kind == Kind::kNumbers);
  CHECK(parse_tokenizer_spec("sentencepiece").vocabulary_size == kUsualPieces);
  CHECK(parse_tokenizer_spec("sentencepiece:4000").vocabulary_size == 4000);
  CHECK(parse_tokenizer_spec("a/b.model").file == "a/b.model");
  CHECK_THROWS_WITH(parse_tokenizer_spec("byte"), ContainsSubstring("did you mean bytes"));
  CHECK_THROWS_AS(parse_tokenizer_spec("sentencepiece:"), FormatError);
  CHECK_THROWS_AS(parse_tokenizer_spec("sentencepiece:4k"), FormatError);
}

TEST_CASE("characters of UTF-8 end where the standard says", "[data][tokenizer]") {
  CHECK(utf8_character_bytes("") == 0);
  CHECK(utf8_character_bytes("a\xC3\xB6") == 1);
  CHECK(utf8_character_bytes("\xC3\xB6") == 2);
  CHECK(utf8_character_bytes("\xE2\x82\xAC") == 3);
  CHECK(utf8_character_bytes("\xF0\x9F\x90\x9A") == 4);
  // Overlong, surrogate, beyond U+10FFFF, cut off, a continuation alone: none of them is a character.
  for (const char* text : {"\xC0\x80", "\xE0\x80\x80", "\xF0\x80\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                           "\xE2\x82", "\xF0\x9F\x90", "\x80", "\xFF", "\xC3z"}) {
    CAPTURE(text);
    CHECK(utf8_character_bytes(text) == 0);
  }
}

namespace {

std::string number_of(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>((value & 0x7F) | 0x80);
  return bytes + static_cast<char>(value);
}

// Parts of a ModelProto: a field with a length, a field with a number, and a piece.
std::string part(std::uint64_t number, const std::string& bytes) {
  return number_of(number << 3 | 2) + number_of(bytes.size()) + bytes;
}
std::string value(std::uint64_t number, std::uint64_t value) { return number_of(number << 3) + number_of(value); }
std::string piece(const std::string& text, std::uint64_t type) {
  return part(1, part(1, text) + std::string("\x15\0\0\0\0", 5) + value(3, type));
}

std::string little_endian(std::uint32_t word) {
  std::string bytes;
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(word >> shift & 0xFF);
  return bytes;
}

// A model whose table of normalizations has 256 units, all empty but the one at 3, and the texts "x" and "".
std::string model_with_table(std::uint32_t unit_3) {
  std::string units(1024, '\0');
  units.replace(12, 4, little_endian(unit_3));
  const std::string table = little_endian(1024) + units + std::string("x\0\0", 3);
  return piece("<unk>", 2) + piece("a", 1) + part(3, part(1, "own") + part(2, table));
}

std::string refusal_of(const std::string& model) {
  try {
    (void)sentence_piece_tokenizer(model, "a.model");
  } catch (const FormatError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a model that would end SentencePiece's process is refused before it is read", "[data][tokenizer]") {
  const std::string unknown = piece("<unk>", 2), a = piece("a", 1);
  REQUIRE(refusal_of(unknown + a).empty());
  CHECK_THAT(refusal_of(a), ContainsSubstring("0 pieces for the unknown"));
  CHECK_THAT(refusal_of(unknown + a + a), ContainsSubstring("'a' occurs twice"));
  CHECK_THAT(refusal_of(unknown + piece("", 1)), ContainsSubstring("empty"));
  CHECK_THAT(refusal_of(unknown + piece(std::string("a\0b", 3), 1)), ContainsSubstring("is not text"));
  CHECK_THAT(refusal_of(unknown + piece("\xFF", 1)), ContainsSubstring("is not text"));
  CHECK_THAT(refusal_of(unknown + piece("b", 9)), ContainsSubstring("unknown type"));
  CHECK_THAT(refusal_of(unknown + piece("<0x0A>", 6)), ContainsSubstring("1 pieces for bytes"));
  CHECK_THAT(refusal_of(unknown + a + part(2, value(3, 7))), ContainsSubstring("unknown type of model"));
  CHECK_THAT(refusal_of(unknown + a + part(2, "") + part(2, "")), ContainsSubstring("occurs twice"));
  const std::string not_a_number = part(1, part(1, "b") + std::string("\x15\0\0\xC0\x7F", 5));
  CHECK_THAT(refusal_of(unknown + not_a_number), ContainsSubstring("not a usable number"));
}

TEST_CASE("what a model has no piece for becomes its unknown piece, whatever that is called", "[data][tokenizer]") {
  const auto tokenizer =
      sentence_piece_tokenizer(piece("a", 1) + piece("<other>", 2) + part(3, value(3, 0)), "a.model");
  CHECK(tokenizer->encode("a\n\xFF") == std::vector<std::int32_t>{0, 1, 1});
}

TEST_CASE("a table of normalizations must not point outside of itself", "[data][tokenizer]") {
  constexpr std::uint32_t kLeaf = 1U << 31;
  CHECK(refusal_of(model_with_table(0)).empty());
  CHECK(refusal_of(model_with_table(kLeaf | 2)).empty());  // the last of the texts' three bytes
  CHECK_THAT(refusal_of(model_with_table(kLeaf | 3)), ContainsSubstring("points outside"));
  CHECK(refusal_of(model_with_table(200U << 10)).empty());  // still the only block of 256
  CHECK_THAT(refusal_of(model_with_table(256U << 10)), ContainsSubstring("points outside"));
  CHECK_THAT(refusal_of(model_with_table(1U << 10 | 1U << 9)), ContainsSubstring("points outside"));  // 1 << 8
  const std::string whole = piece("<unk>", 2);
  CHECK_THAT(refusal_of(whole + part(3, part(2, "abc"))), ContainsSubstring("wrong size"));
  CHECK_THAT(refusal_of(whole + part(3, part(2, little_endian(1024) + std::string(1024, '\0')))),
             ContainsSubstring("wrong size"));
}
