#include "emulator/checker/happens_before.hpp"

#include "support/catch.hpp"

using namespace lockstep::emulator::checker;

namespace {

// A launch whose first block has begun.
HappensBefore running(std::uint32_t thread_count = 64) {
  HappensBefore order;
  order.launch_begin();
  order.block_begin(0, thread_count);
  return order;
}

bool is_ordered(const HappensBefore& order, const Access& before, std::uint32_t thread) {
  return order.is_ordered(before, thread, order.launch().first);
}

Access write_by(const HappensBefore& order, std::uint32_t thread) { return order.now(thread, 70000, kWrite); }

}  // namespace

TEST_CASE("Nothing orders two threads of a block until a barrier does", "[emulator]") {
  HappensBefore order = running();
  const Access write = write_by(order, 3);
  CHECK(is_ordered(order, write, 3));
  CHECK_FALSE(is_ordered(order, write, 4));
  CHECK_FALSE(is_ordered(order, write, 40));
  order.barrier();
  CHECK(is_ordered(order, write, 4));
  CHECK(is_ordered(order, write, 40));
}

TEST_CASE("A meeting of a whole warp orders its lanes and nobody else", "[emulator]") {
  HappensBefore order = running();
  const Access write = write_by(order, 3);
  order.warp_met(0, ~0U);
  CHECK(is_ordered(order, write, 31));
  CHECK_FALSE(is_ordered(order, write, 32));
  CHECK_FALSE(is_ordered(order, write_by(order, 3), 31));
}

TEST_CASE("A meeting of some lanes orders those, and others only through them", "[emulator]") {
  HappensBefore order = running();
  const Access write = write_by(order, 1);
  order.warp_met(0, 0b0011);
  CHECK(is_ordered(order, write, 0));
  CHECK_FALSE(is_ordered(order, write, 2));
  order.warp_met(0, 0b0101);
  CHECK(is_ordered(order, write, 2));
  CHECK_FALSE(is_ordered(order, write_by(order, 0), 1));
}

TEST_CASE("Clocks start anew in each interval, and what was ordered or not stays so", "[emulator]") {
  HappensBefore order = running();
  for (int i = 0; i < 5; ++i) order.warp_met(0, ~0U);
  order.warp_met(0, 0b0011);
  const Access write = write_by(order, 1);
  CHECK(write.clock > 1);
  order.barrier();
  CHECK(write_by(order, 1).clock == 1);
  CHECK(is_ordered(order, write, 0));
  CHECK_FALSE(is_ordered(order, write_by(order, 1), 0));  // lanes 0 and 1 met in the interval before
  order.warp_met(0, ~0U);
  order.block_begin(1, 64);
  CHECK(write_by(order, 1).clock == 1);
  CHECK_FALSE(is_ordered(order, write_by(order, 1), 0));
}

TEST_CASE("A kernel may meet and fence more often than there are clocks", "[emulator]") {
  HappensBefore order(3);  // the last clock
  order.launch_begin();
  order.block_begin(0, 64);
  for (int i = 0; i < 10; ++i) {
    const Access write = write_by(order, 3);
    order.warp_met(0, i % 2 == 0 ? ~0U : 0b1001U);
    CHECK(write.clock <= 3);
    CHECK(is_ordered(order, write, 0));
    CHECK_FALSE(is_ordered(order, write_by(order, 3), 0));
  }
  for (int i = 0; i < 10; ++i) {
    int flag = 0;
    const Access write = write_by(order, 40);
    order.fence(40, true);
    const Access after = write_by(order, 40);
    order.atomic(40, &flag);
    order.atomic(0, &flag);
    CHECK(write.clock <= 3);
    CHECK(is_ordered(order, write, 0));
    CHECK_FALSE(is_ordered(order, after, 0));
  }
}

TEST_CASE("Intervals that are used up are neither reused nor exceeded", "[emulator]") {
  HappensBefore order(1000, 6);
  order.launch_begin();      // interval 2
  order.block_begin(0, 64);  // 3
  CHECK(order.intervals_left() == IntervalsLeft::kMost);
  order.barrier();
  CHECK(order.intervals_left() == IntervalsLeft::kHalf);
  for (int i = 0; i < 2; ++i) order.barrier();
  CHECK(order.intervals_left() == IntervalsLeft::kHalf);
  for (int i = 0; i < 5; ++i) order.barrier();
  CHECK(order.intervals_left() == IntervalsLeft::kNone);
  CHECK(order.interval() == 6);
  order = HappensBefore();
  CHECK(order.intervals_left() == IntervalsLeft::kMost);
}

TEST_CASE("The last warp of a block may be short", "[emulator]") {
  HappensBefore order = running(40);
  const Access write = write_by(order, 33);
  order.warp_met(1, ~0U);
  CHECK(is_ordered(order, write, 39));
}

TEST_CASE("Blocks of a launch are not ordered, launches are", "[emulator]") {
  HappensBefore order = running();
  const Access write = write_by(order, 0);
  order.barrier();
  order.block_begin(7, 64);
  CHECK_FALSE(is_ordered(order, write, 0));
  CHECK(order.block_of(write.interval) == 0);
  CHECK(order.block_of(write_by(order, 5).interval) == 7);
  order.launch_begin();
  order.block_begin(0, 64);
  CHECK(is_ordered(order, write, 0));
}

TEST_CASE("An atomic after a fence hands on what came before the fence, to the thread that reads it", "[emulator]") {
  HappensBefore order = running();
  int flag = 0;
  const Access before = write_by(order, 0);
  order.fence(0, true);
  const Access after = write_by(order, 0);
  order.atomic(0, &flag);
  order.block_begin(1, 64);
  CHECK_FALSE(is_ordered(order, before, 0));
  order.atomic(0, &flag);
  CHECK(is_ordered(order, before, 0));
  CHECK_FALSE(is_ordered(order, after, 0));
  CHECK_FALSE(is_ordered(order, before, 40));
  order.barrier();
  CHECK(is_ordered(order, before, 40));
  CHECK_FALSE(is_ordered(order, after, 40));
}

TEST_CASE("An atomic without a fence, or of another address, hands on nothing", "[emulator]") {
  HappensBefore order = running();
  int flags[2] = {};
  const Access write = write_by(order, 0);
  order.atomic(0, &flags[0]);
  order.block_begin(1, 64);
  order.atomic(0, &flags[0]);
  CHECK_FALSE(is_ordered(order, write, 0));
  const Access second = write_by(order, 0);
  order.fence(0, true);
  order.atomic(0, &flags[0]);
  order.block_begin(2, 64);
  order.atomic(0, &flags[1]);
  CHECK_FALSE(is_ordered(order, second, 0));
}

TEST_CASE("A fence covers what other threads did before the barrier that precedes it", "[emulator]") {
  HappensBefore order = running();
  int flag = 0;
  const Access write = write_by(order, 50);
  order.barrier();
  order.fence(0, true);
  order.atomic(0, &flag);
  order.block_begin(1, 64);
  order.atomic(9, &flag);
  CHECK(is_ordered(order, write, 9));
}

TEST_CASE("Each thread fences, then one counts the block as done after a barrier", "[emulator]") {
  HappensBefore order = running();
  int flag = 0;
  const Access write = write_by(order, 50);
  order.fence(50, true);
  order.fence(0, true);
  order.barrier();
  order.atomic(0, &flag);
  order.block_begin(1, 64);
  order.atomic(0, &flag);
  CHECK(is_ordered(order, write, 0));
}

TEST_CASE("A fence for the block serves other warps of the block and no other block", "[emulator]") {
  HappensBefore order = running();
  int flag = 0;
  const Access write = write_by(order, 0);
  order.fence(0, false);
  order.atomic(0, &flag);
  order.atomic(40, &flag);
  CHECK(is_ordered(order, write, 40));
  order.block_begin(1, 64);
  order.atomic(40, &flag);
  CHECK_FALSE(is_ordered(order, write, 40));
}

TEST_CASE("A launch follows earlier ones, except those of other streams that it does not wait for", "[emulator]") {
  HappensBefore order = running();
  const LaunchSpan first{order.launch().first, order.interval()};
  const Access of_first = write_by(order, 3);
  order.launch_begin();
  order.block_begin(0, 64);
  const Access of_second = write_by(order, 3);
  const auto follows = [&](const Access& before) { return order.is_ordered(before, 3, order.launch().ordered_from()); };
  CHECK(follows(of_first));
  order.launch_begin({first});
  order.block_begin(0, 64);
  CHECK_FALSE(follows(of_first));
  CHECK(follows(of_second));
  CHECK(follows(write_by(order, 3)));
  order.launch_begin();
  CHECK(follows(of_first));
}
