#include "data/text.hpp"

#include <cstdlib>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/sha256.hpp"
#include "data/corpus.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

using namespace lockstep;
using namespace lockstep::data;

TEST_CASE("bytes become ids and back, all 256 of them", "[data]") {
  std::string text;
  for (int byte = 0; byte < 256; ++byte) text += static_cast<char>(byte);
  const std::vector<std::int32_t> ids = encode_bytes(text);
  CHECK(ids.front() == 0);
  CHECK(ids.back() == 255);
  CHECK(decode_bytes(ids) == text);
  const std::vector<std::int32_t> no_byte = {256};
  CHECK_THROWS_AS(decode_bytes(no_byte), ContractError);
}

TEST_CASE("nine tenths train and the rest validates, without a token in both", "[data]") {
  const test::TemporaryFolder folder;
  write_file(folder / "text", "0123456789abcdefghij");
  const std::string text = read_text(folder / "text");
  const TextParts parts = split_text(text, "text");
  CHECK(parts.training == "0123456789abcdefgh");
  CHECK(parts.validation == "ij");
  CHECK(split_text("abc", "short").validation == "c");
}

TEST_CASE("a text that is missing, empty, a folder or too short is an error that names it", "[data]") {
  const test::TemporaryFolder folder;
  CHECK_THROWS_WITH(read_text(folder / "none"),
                    "reading " + (folder / "none").string() + ": No such file or directory");
  CHECK_THROWS_WITH(read_text(folder.path()), ContainsSubstring("is a folder"));
  write_file(folder / "empty", "");
  CHECK_THROWS_WITH(read_text(folder / "empty"), "the text " + (folder / "empty").string() + " is empty");
  CHECK_THROWS_WITH(split_text("x", "short"), "short: 1 bytes are too few to split");
  write_file(folder / "text", std::string(100, 'x'));
  CHECK_THROWS_WITH(
      load_corpus({.data = folder / "text", .context_length = 32, .vocabulary_size = 256}, byte_tokenizer()),
      ContainsSubstring("text (validation part): 10 tokens"));
}

TEST_CASE("the course text is found, has its checksum, and is long enough to train on", "[data]") {
  CHECK_NOTHROW(verify_checksum(find_course_text()));
  CHECK(read_text("").size() > 50'000);
}

TEST_CASE("a course text that was changed is refused, and one of the user's own needs no checksum", "[data]") {
  const test::TemporaryFolder folder;
  const std::string text(1000, 'a');
  write_file(folder / "own", text);
  ::setenv("LOCKSTEP_COURSE_TEXT", (folder / "own").c_str(), 1);
  CHECK(read_text("").size() == 1000);
  write_file(folder / "own.sha256", sha256_hex(text) + "  own\n");
  CHECK(read_text("").size() == 1000);
  write_file(folder / "own", text + "b");
  CHECK_THROWS_WITH(read_text(""), ContainsSubstring("has SHA-256 " + sha256_hex(text + "b")));
  ::unsetenv("LOCKSTEP_COURSE_TEXT");
}
