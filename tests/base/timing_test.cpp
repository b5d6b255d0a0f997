#include "base/timing.hpp"

#include "support/catch.hpp"

using namespace lockstep;

TEST_CASE("the median is the middle value, of an even number the upper one", "[base]") {
  CHECK(median({7}) == 7);
  CHECK(median({9, 1, 5}) == 5);
  CHECK(median({4, 1, 3, 2}) == 3);
  CHECK_THROWS_AS(median({}), ContractError);
}

TEST_CASE("a stopwatch never runs backwards", "[base]") {
  const Stopwatch stopwatch;
  const double first = stopwatch.seconds();
  const double second = stopwatch.seconds();
  CHECK(first >= 0);
  CHECK(second >= first);
}
