#include "data/added_tokens.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/file.hpp"
#include "data/byte_pair.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace lockstep::data;

namespace {

// The result of split_at_tokens() for a text: pieces in quotes, numbers of tokens.
std::string split(std::string_view text, const std::vector<AddedToken>& tokens) {
  std::string parts;
  split_at_tokens(
      text, tokens, [&](std::string_view piece) { parts += concat("'", piece, "'"); },
      [&](std::int32_t id) { parts += concat("<", id, ">"); });
  return parts;
}

// The characters by which GPT-2's files write the bytes: printable ones of Latin-1 as themselves.
nlohmann::json byte_vocabulary() {
  nlohmann::json vocabulary = nlohmann::json::object();
  unsigned next = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool is_printed = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    const unsigned code_point = is_printed ? byte : next++;
    std::string character(1, static_cast<char>(code_point));
    if (code_point >= 0x80)
      character = {static_cast<char>(0xC0 | (code_point >> 6)), static_cast<char>(0x80 | (code_point & 0x3F))};
    vocabulary[character] = byte;
  }
  vocabulary["th"] = 256;
  return vocabulary;
}

nlohmann::json tokenizer_json() {
  return {{"version", "1.0"},
          {"added_tokens",
           {{{"id", 257}, {"content", "<|endoftext|>"}, {"special", true}}, {{"id", 258}, {"content", "<pad>"}}}},
          {"normalizer", nullptr},
          {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
          {"model", {{"type", "BPE"}, {"vocab", byte_vocabulary()}, {"merges", {"t h"}}}}};
}

}  // namespace

TEST_CASE("a text is cut at tokens, the first in the text and the longest at a place", "[data]") {
  const std::vector<AddedToken> tokens{{"<a>", 1}, {"<a><b>", 2}, {"<b>", 3}};
  CHECK(split("", tokens).empty());
  CHECK(split("plain", tokens) == "'plain'");
  CHECK(split("plain", {}) == "'plain'");
  CHECK(split("<b>x<a>", tokens) == "<3>'x'<1>");
  CHECK(split("x<a><b><b><a>y<", tokens) == "'x'<2><3><1>'y<'");
}

TEST_CASE("added_tokens.json gives a tokenizer the tokens behind its vocabulary", "[data]") {
  const std::string vocabulary = byte_vocabulary().dump();
  const auto made = [&](const std::string& added) {
    return byte_pair_tokenizer({.vocabulary = vocabulary, .merges = "t h\n", .name = "f", .added = added});
  };
  const auto tokenizer = made(R"({"<pad>": 257, "<|endoftext|>": 258})");
  CHECK(tokenizer->vocabulary_size() == 259);
  CHECK(tokenizer->encode("th<pad>t<|endoftext|>") == std::vector<std::int32_t>{256, 257, 't', 258});
  CHECK(tokenizer->decode(std::vector<std::int32_t>{256, 257}) == "th<pad>");
  CHECK(tokenizer->end_of_text() == 258);
  CHECK_THROWS_WITH(made(R"({"<pad>": 300})"), ContainsSubstring("f/added_tokens.json: '<pad>' has the number 300; the "
                                                                 "next number after the vocabulary is 257"));
  CHECK_THROWS_WITH(made(R"({"<pad>": 65})"), ContainsSubstring("which is that of 'A'"));
  CHECK_THROWS_WITH(made(R"(["<pad>"])"), ContainsSubstring("added_tokens.json is not an object {token: number}"));
}

TEST_CASE("a folder with tokenizer.json alone has the same tokenizer", "[data]") {
  const test::TemporaryFolder folder;
  nlohmann::json content = tokenizer_json();
  SECTION("merges as one text") {}
  SECTION("merges as pairs") {
    content["model"]["merges"] = nlohmann::json::array({nlohmann::json::array({"t", "h"})});
  }
  write_file(folder / "tokenizer.json", content.dump());
  const auto tokenizer = read_byte_pair_tokenizer(folder.path());
  CHECK(tokenizer->encode("the<|endoftext|><pad>") == std::vector<std::int32_t>{256, 'e', 257, 258});
  CHECK(tokenizer->end_of_text() == 257);
}

TEST_CASE("a tokenizer.json of another kind, or none, says what it is", "[data]") {
  const test::TemporaryFolder folder;
  const auto refusal = [&](const std::string& text) {
    write_file(folder / "tokenizer.json", text);
    try {
      (void)read_byte_pair_tokenizer(folder.path());
      return std::string();
    } catch (const FormatError& error) {
      return std::string(error.what());
    }
  };
  nlohmann::json other = tokenizer_json();
  other["model"]["type"] = "WordPiece";
  CHECK_THAT(refusal(other.dump()), ContainsSubstring("tokenizer.json is a tokenizer of the kind WordPiece"));
  other = tokenizer_json();
  other["pre_tokenizer"] = {{"type", "Metaspace"}};
  CHECK_THAT(refusal(other.dump()), ContainsSubstring("pre-tokenizer Metaspace"));
  other = tokenizer_json();
  other["normalizer"] = {{"type", "NFC"}};
  CHECK_THAT(refusal(other.dump()), ContainsSubstring("normalizer NFC"));
  CHECK_THAT(refusal("<html>"), ContainsSubstring("is an HTML page"));
  CHECK_THAT(refusal("[]"), ContainsSubstring("is not what Hugging Face's tokenizers write"));
}
