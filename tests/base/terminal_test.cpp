#include "base/terminal.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/unique_fd.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"

using namespace lockstep;

TEST_CASE("decimals are fixed and rounded", "[base][terminal]") {
  CHECK(with_digits(2.0, 3) == "2.000");
  CHECK(with_digits(6.25, 0) == "6");
  CHECK(with_digits(-0.666, 2) == "-0.67");
  CHECK(with_digits(1234567.8, 1) == "1234567.8");
  CHECK(with_digits(std::copysign(NAN, -1.0), 2) == "nan");
}

TEST_CASE("a table aligns its first column to the left and the others to the right", "[base][terminal]") {
  TextTable table;
  CHECK(table.text().empty());
  table.add({"link", "GB/s"});
  table.add({"PCIe 3", "15.8", "a note"});
  table.add({"x"});
  CHECK(table.text() ==
        "link    GB/s\n"
        "PCIe 3  15.8  a note\n"
        "x\n");
}

TEST_CASE("colours are for terminals only, and NO_COLOR turns them off", "[base][terminal]") {
  const UniqueFd file(::open("/dev/null", O_WRONLY));
  CHECK_FALSE(wants_colours(file.get()));
  const UniqueFd terminal(::posix_openpt(O_RDWR | O_NOCTTY));
  if (!terminal.is_open() || ::isatty(terminal.get()) == 0) test::skip("there is no pseudo-terminal here");
  ::unsetenv("NO_COLOR");
  ::setenv("TERM", "xterm", 1);
  CHECK(wants_colours(terminal.get()));
  ::setenv("TERM", "dumb", 1);
  CHECK_FALSE(wants_colours(terminal.get()));
  CHECK_FALSE(terminal_has_controls());
  ::setenv("TERM", "xterm", 1);
  CHECK(terminal_has_controls());
  ::setenv("NO_COLOR", "", 1);
  CHECK(wants_colours(terminal.get()));
  ::setenv("NO_COLOR", "1", 1);
  CHECK_FALSE(wants_colours(terminal.get()));
  ::unsetenv("NO_COLOR");
}

TEST_CASE("text is wrapped at words, under its column, and long words stay whole", "[base][terminal]") {
  CHECK(wrap_words("one two three\n", 9) == "one two\nthree\n");
  CHECK(wrap_words("one two three", 13) == "one two three");
  CHECK(wrap_words("  data    text, 3 MB as bytes\n  run     here\n", 20, 10) ==
        "  data    text, 3 MB\n          as bytes\n  run     here\n");
  CHECK(wrap_words("see /a/rather/long/path now", 10) == "see\n/a/rather/long/path\nnow");
  CHECK(wrap_words("a b", 0) == "a\nb");
  CHECK(wrap_words("\n\nx\n", 5) == "\n\nx\n");
  CHECK(wrap_words("d\u00e9j\u00e0 vu", 7) == "d\u00e9j\u00e0 vu");                   // seven characters, nine bytes
  CHECK(wrap_words("\033[1mnext:\033[0m go on", 11) == "\033[1mnext:\033[0m go on");  // colours take no room
  CHECK(wrap_words("\033[1mnext:\033[0m go on", 10) == "\033[1mnext:\033[0m go\non");
  CHECK(wrap_words("one two three", kAnyColumns) == "one two three");
  for (std::size_t columns = 12; columns < 60; ++columns) {
    const std::string text =
        wrap_words("  report      nobody waits for a gradient which is there already\n", columns, 14);
    for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
      CHECK(end - begin <= std::max<std::size_t>(columns, 14 + 8));
  }
}

TEST_CASE("text is wrapped for a terminal as wide as it is now, and for nothing else", "[base][terminal]") {
  const UniqueFd file(::open("/dev/null", O_WRONLY));
  CHECK_FALSE(terminal_columns(file.get()));
  CHECK(wrap_for(file.get(), "one two three") == "one two three");
  const UniqueFd terminal(::posix_openpt(O_RDWR | O_NOCTTY));
  if (!terminal.is_open() || ::isatty(terminal.get()) == 0) test::skip("there is no pseudo-terminal here");
  for (const int columns : {7, 60}) {
    const winsize size{.ws_row = 24, .ws_col = static_cast<unsigned short>(columns), .ws_xpixel = 0, .ws_ypixel = 0};
    REQUIRE(::ioctl(terminal.get(), TIOCSWINSZ, &size) == 0);
    CHECK(terminal_columns(terminal.get()) == columns);
    CHECK(wrap_for(terminal.get(), "one two three") == (columns == 7 ? "one two\nthree" : "one two three"));
  }
}
