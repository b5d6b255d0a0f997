#include "base/plain_text.hpp"

#include "support/catch.hpp"

namespace lockstep {
namespace {

std::string one_line(std::string_view text) { return plain_text(text, 1000, LineBreaks::kReplace); }

}  // namespace

TEST_CASE("plain text keeps all visible characters, in any script", "[base]") {
  const std::string text = "Zo\u00eb \u0416 \u4e2d\u6587 \U0001F600 \"x\" <b>";
  CHECK(one_line(text) == text);
  CHECK(one_line("") == "");
}

TEST_CASE("plain text has no control characters, no changes of writing direction and nothing invisible", "[base]") {
  CHECK(one_line("\x1b[31mred\x1b[0m\r\x7f\b") == "?[31mred?[0m???");
  CHECK(one_line("\u009b31m") == "?31m");                       // CSI as one character
  CHECK(one_line("txt\u202efdp.exe\u2066") == "txt?fdp.exe?");  // RLO, LRI
  CHECK(one_line("a\u200bb\ufeffc\u2028d\U000E0041") == "a?b?c?d?");
  CHECK(one_line(std::string_view("a\0b", 3)) == "a?b");
}

TEST_CASE("plain text is UTF-8, whatever bytes it was made from", "[base]") {
  CHECK(one_line("\xff\xfe") == "??");
  CHECK(one_line("\xc3") == "?");                 // cut off
  CHECK(one_line("\xc0\xaf") == "??");            // an overlong '/'
  CHECK(one_line("\xed\xa0\x80") == "???");       // a surrogate
  CHECK(one_line("\xf4\x90\x80\x80") == "????");  // above U+10FFFF
}

TEST_CASE("plain text keeps or replaces line breaks, and is cut between characters", "[base]") {
  CHECK(plain_text("a\n\tb", 10, LineBreaks::kKeep) == "a\n\tb");
  CHECK(one_line("a\n\tb") == "a  b");
  CHECK(plain_text("\u00eb\u00eb", 3, LineBreaks::kKeep) == "\u00eb...");
  CHECK(plain_text("abc", 3, LineBreaks::kKeep) == "abc");
}

}  // namespace lockstep
