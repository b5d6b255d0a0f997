#include "run/readable.hpp"

#include <cmath>

#include "support/catch.hpp"

using namespace lockstep::run;
using std::chrono::seconds;

TEST_CASE("counts have three significant digits and a suffix", "[run]") {
  CHECK(short_count(0) == "0");
  CHECK(short_count(950) == "950");
  CHECK(short_count(999.6) == "1.00k");
  CHECK(short_count(1234) == "1.23k");
  CHECK(short_count(45'231) == "45.2k");
  CHECK(short_count(99'960) == "100k");
  CHECK(short_count(999'600) == "1.00M");
  CHECK(short_count(124e6) == "124M");
  CHECK(short_count(7.25e12) == "7250G");
}

TEST_CASE("digits come in groups of three", "[run]") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(842'752) == "842,752");
  CHECK(grouped(-1'234'567) == "-1,234,567");
}

TEST_CASE("times look like a clock", "[run]") {
  CHECK(clock_time(seconds(-3)) == "0:00");
  CHECK(clock_time(seconds(7)) == "0:07");
  CHECK(clock_time(std::chrono::milliseconds(59'700)) == "1:00");
  CHECK(clock_time(seconds(723)) == "12:03");
  CHECK(clock_time(seconds(3765)) == "1:02:45");
  CHECK(clock_time(seconds(3600)) == "1:00:00");
}

TEST_CASE("bytes and numbers are short", "[run]") {
  CHECK(short_bytes(17) == "17 bytes");
  CHECK(short_bytes(1'115'394) == "1.1 MB");
  CHECK(short_bytes(412'000) == "412 KB");
  CHECK(short_bytes(999'499) == "999 KB");
  CHECK(short_bytes(999'500) == "1.0 MB");
  CHECK(short_bytes(999'949'000) == "999.9 MB");
  CHECK(short_bytes(999'950'000) == "1.0 GB");
  CHECK(shortest(0.001) == "0.001");
  CHECK(shortest(0.1 + 0.2) == "0.3");
  CHECK(fixed(2, 3) == "2.000");
  CHECK(fixed(std::copysign(NAN, -1.0), 3) == "nan");  // whose sign means nothing
  CHECK(shortest(std::copysign(NAN, -1.0)) == "nan");
}

TEST_CASE("numbers that follow one another are joined", "[run]") {
  const auto text = [](std::vector<int> numbers) { return ranges(numbers); };
  CHECK(text({}).empty());
  CHECK(text({5}) == "5");
  CHECK(text({0, 1, 2, 3, 8}) == "0-3, 8");
  CHECK(text({0, 2, 4, 5}) == "0, 2, 4-5");
}
