#include "base/deadline.hpp"

#include "support/catch.hpp"

using lockstep::Deadline;
using namespace std::chrono_literals;

TEST_CASE("a deadline in the past has expired and leaves nothing", "[base]") {
  const Deadline deadline = Deadline::after(-1s);
  CHECK(deadline.has_expired());
  CHECK(deadline.remaining() == 0ns);
  CHECK(deadline.poll_timeout_ms() == 0);
}

TEST_CASE("a budget beyond the clock's range never expires instead of wrapping into the past", "[base]") {
  const Deadline deadline = Deadline::after(std::chrono::nanoseconds::max());
  CHECK(deadline.is_never());
  CHECK_FALSE(deadline.has_expired());
  CHECK(deadline.poll_timeout_ms() == -1);
  CHECK(deadline.poll_timeout_ms(250) == 250);
}

TEST_CASE("poll timeouts round up, so that poll never returns before the deadline", "[base]") {
  const Deadline deadline = Deadline::after(10s);
  CHECK(deadline.poll_timeout_ms() > 9000);
  CHECK(deadline.poll_timeout_ms() <= 10000);
  CHECK(deadline.poll_timeout_ms(20) == 20);
}

TEST_CASE("the earlier of two deadlines wins, in either order", "[base]") {
  const Deadline soon = Deadline::after(1s);
  const Deadline late = Deadline::after(1h);
  CHECK(soon.earliest(late).when() == soon.when());
  CHECK(late.earliest(soon).when() == soon.when());
  CHECK(Deadline::never().earliest(soon).when() == soon.when());
}
