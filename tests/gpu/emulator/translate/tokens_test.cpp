#include "emulator/translate/tokens.hpp"

#include <string>

#include "support/catch.hpp"

using lockstep::translate::line_column;
using lockstep::translate::split_tokens;
using lockstep::translate::Token;
using lockstep::translate::TokenKind;

namespace {

// The tokens with a bar between them.
std::string split(const std::string& source) {
  std::string text;
  for (const Token& token : split_tokens(source)) {
    if (!text.empty()) text += "|";
    text += token.text;
  }
  return text;
}

}  // namespace

TEST_CASE("comments are between tokens, also with a line's end escaped", "[emulator]") {
  CHECK(split("a // b <<< \n c") == "a|c");
  CHECK(split("a // b \\\n still c\nd") == "a|d");
  CHECK(split("a /* b \n // */ c") == "a|c");
  CHECK(split("a /* never closed") == "a");
  CHECK(split("a /*/ b */ c") == "a|c");
}

TEST_CASE("strings, characters and raw strings are one token each", "[emulator]") {
  CHECK(split(R"(f("a\"b // c", 'x', '\'', u8"y"))") == R"(f|(|"a\"b // c"|,|'x'|,|'\''|,|u8"y"|))");
  CHECK(split("R\"(a\" // \n <<< )\" b") == "R\"(a\" // \n <<< )\"|b");
  CHECK(split("LR\"xy(a)\" )xy\" b") == "LR\"xy(a)\" )xy\"|b");
  CHECK(split("FOR\"a\"") == "FOR|\"a\"");
  CHECK(split("it's\nb") == "it|'s|b");
}

TEST_CASE("a number keeps its separators, exponent and suffix", "[emulator]") {
  CHECK(split("1'000'000u 0x1.8p-3f .5e+7 1.f 3'x'") == "1'000'000u|0x1.8p-3f|.5e+7|1.f|3'x|'");
  CHECK(split("a.b 1-2") == "a|.|b|1|-|2");
}

TEST_CASE("punctuation comes character by character, so that >>> may close templates or a launch", "[emulator]") {
  CHECK(split("a::b->c>>>d") == "a|::|b|->|c|>|>|>|d");
}

TEST_CASE("a directive's tokens carry its number, to the end of its last line", "[emulator]") {
  const std::string source = "a\n#define X(y) \\\n y\nb # c\n  #include <d/e.h>\n#include \"f g.h\"\n#error don't\nh";
  std::string numbers;
  for (const Token& token : split_tokens(source)) numbers += std::to_string(token.directive);
  CHECK(numbers ==
        "0"
        "1111111"
        "000"
        "222"
        "333"
        "4444"
        "0");
  CHECK(split("#include <d/e.h>\n#include \"f g.h\"") == "#|include|<d/e.h>|#|include|\"f g.h\"");
  CHECK(split_tokens("#include <a.h>")[2].kind == TokenKind::kHeaderName);
  CHECK(split("a < b > c") == "a|<|b|>|c");
}

TEST_CASE("any bytes have tokens, and each token is a part of its source", "[emulator]") {
  for (const std::string source : {"", "\\", "\"", "'", "R\"", "R\"(", "R\"aaaaaaaaaaaaaaaaaaaaaaaa(", "/", "/*", "#",
                                   "#include", "#include <", "#include \"", "0'", "\xff\xfe", "a\\\r\nb"}) {
    std::size_t at = 0;
    for (const Token& token : split_tokens(source)) {
      CHECK(token.begin >= at);
      CHECK_FALSE(token.text.empty());
      CHECK(token.text == std::string_view(source).substr(token.begin, token.text.size()));
      at = token.end();
    }
    CHECK(at <= source.size());
  }
}

TEST_CASE("lines and columns count from one", "[emulator]") {
  const std::string source = "ab\ncd\n";
  CHECK(line_column(source, 0).line == 1);
  CHECK(line_column(source, 0).column == 1);
  CHECK(line_column(source, 4).line == 2);
  CHECK(line_column(source, 4).column == 2);
  CHECK(line_column(source, 6).line == 3);
}
