#include "base/terminal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cmath>

#include "base/unique_fd.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"

using namespace lockstep;

TEST_CASE("digits behind the point are fixed and rounded", "[base][terminal]") {
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
  CHECK(wants_colours(terminal.get()));
  ::setenv("NO_COLOR", "", 1);
  CHECK(wants_colours(terminal.get()));
  ::setenv("NO_COLOR", "1", 1);
  CHECK_FALSE(wants_colours(terminal.get()));
  ::unsetenv("NO_COLOR");
}
