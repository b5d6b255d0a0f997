#include "data/byte_pair.hpp"

#include <nlohmann/json.hpp>
#include <random>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "data/gpt2_split.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace lockstep::data;

namespace {

nlohmann::json recorded() {
  return parse_json(read_file(std::filesystem::path(LOCKSTEP_SOURCE_DIR) / "tests/train/data/gpt2_tokens.json"));
}

// vocab.json and merges.txt with the recorded part of GPT-2's vocabulary. Tokens that are left out are filled in by
// some that no text has: they begin with the byte 0 and are in no merge.
BytePairFiles recorded_files() {
  const nlohmann::json record = recorded();
  nlohmann::json vocabulary = record.at("vocabulary");
  const auto size = record.at("vocabulary_size").get<int>();
  std::vector<bool> is_taken(static_cast<std::size_t>(size));
  for (const auto& [token, id] : vocabulary.items()) is_taken[id.get<std::size_t>()] = true;
  for (int id = 0; id < size; ++id) {
    if (!is_taken[static_cast<std::size_t>(id)]) vocabulary[concat("\u0100", id)] = id;
  }
  std::string merges = "#version: 0.2\n";
  for (const auto& merge : record.at("merges")) merges += merge.get<std::string>() + "\n";
  return {dump_json(vocabulary), merges, "gpt2"};
}

// The smallest vocabulary: the 256 bytes in GPT-2's order of characters, and `more` after them.
std::string byte_vocabulary(const std::vector<std::string>& more) {
  const nlohmann::json record = recorded();
  nlohmann::json vocabulary;
  for (const auto& [token, id] : record.at("vocabulary").items()) {
    if (id.get<int>() < 256) vocabulary[token] = id;
  }
  for (const std::string& token : more) vocabulary[token] = vocabulary.size();
  return dump_json(vocabulary);
}

std::string refusal(const std::string& vocabulary, const std::string& merges = "") {
  try {
    (void)byte_pair_tokenizer({vocabulary, merges, "folder"});
    return "";
  } catch (const FormatError& error) {
    return error.what();
  }
}

std::vector<std::string> pieces_of(std::string_view text) {
  const auto views = gpt2_split(text);
  return {views.begin(), views.end()};
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("hard texts become the tokens of the published GPT-2 tokenizer, and come back", "[data]") {
  const auto tokenizer = byte_pair_tokenizer(recorded_files());
  CHECK(tokenizer->vocabulary_size() == 50257);
  const nlohmann::json record = recorded();
  REQUIRE(record.at("cases").size() > 100);
  for (const auto& example : record.at("cases")) {
    const auto text = example.at("text").get<std::string>();
    INFO(text);
    const std::vector<std::int32_t> ids = tokenizer->encode(text);
    CHECK(ids == example.at("ids").get<std::vector<std::int32_t>>());
    CHECK(tokenizer->decode(ids) == text);
  }
}

TEST_CASE("the end of a text is one token, or characters like others", "[data]") {
  const auto files = recorded_files();
  const auto special = byte_pair_tokenizer(files), ordinary = byte_pair_tokenizer(files, SpecialTokens::kAsText);
  CHECK(special->encode(kEndOfText) == std::vector<std::int32_t>{50256});
  const auto ids = ordinary->encode(kEndOfText);
  CHECK(ids == std::vector<std::int32_t>{27, 91, 437, 1659, 5239, 91, 29});  // tiktoken's encode_ordinary()
  CHECK(ordinary->decode(ids) == kEndOfText);
  CHECK(ordinary->decode(std::vector<std::int32_t>{50256}) == kEndOfText);
}

TEST_CASE("bytes that are no UTF-8 are signs of one byte, and come back", "[data]") {
  CHECK(pieces_of("a\xFF"
                  "b") == Texts{"a", "\xFF", "b"});
  CHECK(pieces_of("\xC3 \xE2\x82 x") == Texts{"\xC3", " \xE2\x82", " x"});
  const auto tokenizer = byte_pair_tokenizer(recorded_files());
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    std::string bytes;
    for (int count = static_cast<int>(random() % 40); count > 0; --count) bytes += static_cast<char>(random());
    CHECK(tokenizer->decode(tokenizer->encode(bytes)) == bytes);
  }
}

TEST_CASE("a text is cut where GPT-2's regular expression cuts it", "[data]") {
  CHECK(pieces_of("").empty());
  CHECK(pieces_of("I'll say: it's 10 o'clock") ==
        Texts{"I", "'ll", " say", ":", " it", "'s", " 10", " o", "'", "clock"});
  CHECK(pieces_of("a  b\n\n c \n") == Texts{"a", " ", " b", "\n\n", " c", " \n"});
  CHECK(pieces_of("\n\t x") == Texts{"\n\t", " x"});
  CHECK(pieces_of("x\u3000\u3000y") == Texts{"x", "\u3000", "\u3000", "y"});    // no space: it stays alone
  CHECK(pieces_of("\u0661\u216b\u00b2a") == Texts{"\u0661\u216b\u00b2", "a"});  // digits of three kinds
  CHECK(pieces_of("e\u0301") == Texts{"e", "\u0301"});                          // a combining mark is no letter
}

TEST_CASE("the pair that is first in the list is joined first, the leftmost of equals", "[data]") {
  const auto tokenizer =
      byte_pair_tokenizer({byte_vocabulary({"bc", "ab", "abc", "aa"}), "b c\na b\na bc\na a\n", "f"});
  const auto texts_of = [&](const std::string& text) {
    Texts texts;
    for (const std::int32_t id : tokenizer->encode(text)) texts.push_back(tokenizer->decode({{id}}));
    return texts;
  };
  CHECK(texts_of("abc") == Texts{"abc"});
  CHECK(texts_of("abab") == Texts{"ab", "ab"});
  CHECK(texts_of("aaa") == Texts{"aa", "a"});
  CHECK(texts_of("xaabcx") == Texts{"x", "a", "abc", "x"});
}

TEST_CASE("a word of a million letters takes no square of that time", "[data]") {
  const auto tokenizer = byte_pair_tokenizer(recorded_files());
  const std::string word(1'000'000, 'a');  // 10^12 steps, if each merge searched the whole word
  CHECK(tokenizer->decode(tokenizer->encode(word)) == word);
}

TEST_CASE("files that are not a byte-level vocabulary are refused with the reason", "[data]") {
  CHECK(refusal(byte_vocabulary({})).empty());
  CHECK(refusal(byte_vocabulary({"ab"}), "#version: 0.2\r\na b\r\n\n").empty());
  CHECK_THAT(refusal("{"), ContainsSubstring("folder/vocab.json is not JSON"));
  CHECK_THAT(refusal("[]"), ContainsSubstring("is not an object"));
  CHECK_THAT(refusal(R"({"a":0})"), ContainsSubstring("has no token for the byte 0"));
  CHECK_THAT(refusal(R"({"a":0,"b":0})"), ContainsSubstring("is not one of 0 to 1, each used once"));
  CHECK_THAT(refusal(R"({"a":5})"), ContainsSubstring("the number of token 'a' is not one of 0 to 0"));
  CHECK_THAT(refusal(R"({"a b":0})"),
             ContainsSubstring("token 'a b' is empty, or has a character that stands for no byte"));
  CHECK_THAT(refusal(byte_vocabulary({}), "#version: 0.2\na b\n"),
             ContainsSubstring("folder/merges.txt, line 2: 'a b' is not two tokens of vocab.json that make a third"));
  CHECK_THAT(refusal(byte_vocabulary({}), "ab\n"), ContainsSubstring("line 1: 'ab'"));
}

TEST_CASE("the two files are read from a folder, and a missing one is named", "[data]") {
  const test::TemporaryFolder folder;
  CHECK_THROWS_WITH(read_byte_pair_tokenizer(folder.path()), ContainsSubstring("has no vocab.json"));
  write_file(folder / "vocab.json", byte_vocabulary({"ab"}));
  CHECK_THROWS_WITH(read_byte_pair_tokenizer(folder.path()), ContainsSubstring("has no merges.txt"));
  write_file(folder / "merges.txt", "#version: 0.2\na b\n");
  CHECK(read_byte_pair_tokenizer(folder.path())->encode("ab").size() == 1);
}
