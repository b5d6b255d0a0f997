#include "base/utf8.hpp"

#include "base/command_line.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "support/captured_stderr.hpp"
#include "support/catch.hpp"

using namespace lockstep;

TEST_CASE("text is UTF-8 if all of it is", "[base]") {
  for (const char* text : {"", "plain", "\xC3\xB6", "\xE2\x82\xAC \xF0\x9F\x90\x9A"}) CHECK(is_utf8(text));
  for (const char* text : {"\xF6", "a\xC3", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80"}) CHECK_FALSE(is_utf8(text));
}

TEST_CASE("what a terminal would obey is shown, and all else stays", "[base]") {
  struct Case {
    std::string text, shown;
  };
  const std::vector<Case> cases{{"\xC3\xB6 and\ttabs\nand lines", "\xC3\xB6 and\ttabs\nand lines"},
                                {"\x1B[31mred", "\\x1b[31mred"},
                                {"back\rspace\b", "back\\x0dspace\\x08"},
                                {std::string("zero\0", 5), "zero\\x00"},
                                {"\x7F", "\\x7f"},
                                {"\xC2\x9B"
                                 "31m",
                                 "\\xc2\\x9b31m"},  // C1's control sequence introducer
                                {"\xC2\xA0", "\xC2\xA0"},
                                {"f\xFCr", "f\\xfcr"},
                                {"cut \xE2\x82", "cut \\xe2\\x82"}};
  for (const Case& each : cases) CHECK(printable(each.text) == each.shown);
}

TEST_CASE("neither errors nor log lines pass on what a terminal would obey", "[base]") {
  const test::CapturedStderr err;
  CHECK(run_guarded("program", []() -> int { throw FormatError("tensor \x1B]0;title\x07 is missing"); }) == 1);
  Logger("rank\x1B[2J").warning("file \x1B[1A");
  CommandLine line("A program", "program");
  const std::vector<std::string> arguments{"--\x1B[31m"};
  CHECK(line.parse(arguments) == 2);
  const std::string text = err.text();
  CHECK(text.find('\x1B') == std::string::npos);
  CHECK(text.find('\x07') == std::string::npos);
  CHECK_THAT(text, ContainsSubstring("tensor \\x1b]0;title\\x07 is missing") && ContainsSubstring("file \\x1b[1A"));
}
