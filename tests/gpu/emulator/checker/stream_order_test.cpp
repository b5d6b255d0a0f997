#include "emulator/checker/stream_order.hpp"

#include "support/catch.hpp"

using namespace lockstep::emulator;
using namespace lockstep::emulator::checker;

namespace {

StreamOperation launch(StreamId stream, std::uint64_t sequence) {
  StreamOperation operation;
  operation.stream = stream;
  operation.sequence = sequence;
  return operation;
}

// Three launches: of stream 1, of stream 2, of stream 1.
StreamOrder three_launches() {
  StreamOrder order;
  order.launch_begin(launch(1, 1), 2);
  order.launch_end(4);
  order.launch_begin(launch(2, 1), 5);
  order.launch_end(5);
  order.launch_begin(launch(1, 2), 6);
  order.launch_end(9);
  return order;
}

std::vector<Interval> unordered(const StreamOrder& order, StreamId stream, const Clock& before) {
  std::vector<Interval> firsts;
  for (const LaunchSpan& span : order.unordered_with({launch(stream, 9), before, {}})) firsts.push_back(span.first);
  return firsts;
}

}  // namespace

TEST_CASE("An operation follows its own stream's launches, and others that its clock covers", "[emulator]") {
  const StreamOrder order = three_launches();
  CHECK(unordered(order, 1, {}) == std::vector<Interval>{5});
  CHECK(unordered(order, 2, {}) == std::vector<Interval>{2, 6});
  Clock before;
  before.raise(1, 1);
  CHECK(unordered(order, 3, before) == std::vector<Interval>{5, 6});
  before.raise(1, 2);
  CHECK(unordered(order, 3, before) == std::vector<Interval>{5});
  RunningOperation elsewhere{launch(3, 9), {}, {}};
  elsewhere.operation.device = 1;
  CHECK(order.unordered_with(elsewhere).empty());
}

TEST_CASE("A launch is found by its intervals, and forgotten when many more have run", "[emulator]") {
  StreamOrder order = three_launches();
  REQUIRE(order.launch_of(4) != nullptr);
  CHECK(order.launch_of(4)->sequence == 1);
  CHECK(order.launch_of(6)->sequence == 2);
  CHECK(order.launch_of(1) == nullptr);
  CHECK(order.running() == nullptr);
  CHECK(order.launch_of(10) == nullptr);
  for (Interval i = 0; i < StreamOrder::kLaunches - 1; ++i) {
    order.launch_begin(launch(4, i + 1), 10 + i);
    order.launch_end(10 + i);
  }
  CHECK(order.launch_of(5) == nullptr);
  CHECK(unordered(order, 4, {}) == std::vector<Interval>{6});
}
