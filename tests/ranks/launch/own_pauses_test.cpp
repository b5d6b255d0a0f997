#include "launch/hosts/own_pauses.hpp"

#include "support/catch.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using launch::OwnPauses;

TEST_CASE("a step that comes much too late is a pause of this process", "[launch]") {
  const OwnPauses::Time begin{};
  OwnPauses pauses(10s, begin);
  CHECK_FALSE(pauses.note_step(begin + 2s));
  CHECK_FALSE(pauses.note_step(begin + 7s));
  CHECK(pauses.note_step(begin + 13s));
  CHECK_FALSE(pauses.note_step(begin + 14s));
}
