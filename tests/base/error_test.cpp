#include "base/error.hpp"

#include <cerrno>
#include <cmath>
#include <limits>

#include "base/counted.hpp"
#include "base/environment.hpp"
#include "support/catch.hpp"

using namespace lockstep;

TEST_CASE("a number of things has a plural, except for one thing", "[base]") {
  CHECK(counted(0, "rank") == "0 ranks");
  CHECK(counted(1, "more line") == "1 more line");
  CHECK(counted(std::size_t{2}, "exercise") == "2 exercises");
}

TEST_CASE("an IoError carries errno and its text", "[base]") {
  const IoError error("connecting to rank 3", ECONNREFUSED);
  CHECK(error.error_number() == ECONNREFUSED);
  CHECK(std::string(error.what()) == "connecting to rank 3: Connection refused");
}

TEST_CASE("require throws the joined message only when its condition fails", "[base]") {
  CHECK_NOTHROW(require(true, "not seen"));
  CHECK_THROWS_WITH(require(false, "root ", 7, " is not in [0, ", 4, ")"), "root 7 is not in [0, 4)");
}

TEST_CASE("in a message a NaN has no sign", "[base]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(concat(nan, " ", -nan, " ", std::copysign(static_cast<float>(nan), -1.0F), " ", -0.5) == "nan nan nan -0.5");
}

TEST_CASE("an integer variable out of range is an error that names it", "[base]") {
  ::setenv("LOCKSTEP_TEST_VARIABLE", "12x", 1);
  CHECK_THROWS_AS(environment::get_int("LOCKSTEP_TEST_VARIABLE", 0, 99), FormatError);
  ::setenv("LOCKSTEP_TEST_VARIABLE", "120", 1);
  CHECK_THROWS_WITH(environment::get_int("LOCKSTEP_TEST_VARIABLE", 0, 99),
                    "environment variable LOCKSTEP_TEST_VARIABLE=120 is not an integer from 0 to 99");
  ::setenv("LOCKSTEP_TEST_VARIABLE", "12", 1);
  CHECK(environment::get_int("LOCKSTEP_TEST_VARIABLE", 0, 99) == 12);
  ::unsetenv("LOCKSTEP_TEST_VARIABLE");
  CHECK_FALSE(environment::get_int("LOCKSTEP_TEST_VARIABLE", 0, 99).has_value());
}
