#include "trace/recorder.hpp"

#include <thread>

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace lockstep::trace;
using namespace std::chrono_literals;

TEST_CASE("a span keeps its name, lane, category, step and times", "[trace]") {
  Recorder recorder(3);
  const int compute = recorder.lane("compute"), communication = recorder.lane("communication");
  CHECK(recorder.lane("compute") == compute);
  CHECK(communication != compute);
  recorder.set_step(7);
  const auto begin = Clock::now();
  recorder.record(communication, "all-reduce bucket 0", Category::kCommunication, begin, begin + 5ms);
  recorder.record(compute, "forward", Category::kForward, begin - 1ms, begin);
  const RankTrace trace = recorder.snapshot();
  CHECK(trace.rank == 3);
  CHECK(trace.lanes == std::vector<std::string>{"compute", "communication"});
  REQUIRE(trace.spans.size() == 2);
  CHECK(trace.spans[0].name == "forward");  // by begin, not by call
  CHECK(trace.spans[1].lane == communication);
  CHECK(trace.spans[1].category == Category::kCommunication);
  CHECK(trace.spans[1].step == 7);
  CHECK(trace.spans[1].end_ns - trace.spans[1].begin_ns == 5'000'000);
  CHECK_THROWS_AS(recorder.record(2, "nowhere", Category::kOther, begin, begin), ContractError);
  CHECK_THROWS_AS(Recorder(0, 0), ContractError);
}

TEST_CASE("a full recorder keeps the newest spans and counts the others", "[trace]") {
  Recorder recorder(0, 10);
  const int lane = recorder.lane("compute");
  const auto start = Clock::now();
  for (int i = 0; i < 25; ++i)
    recorder.record(lane, std::to_string(i), Category::kOther, start + i * 1ms, start + (i + 1) * 1ms);
  const RankTrace trace = recorder.snapshot();
  REQUIRE(trace.spans.size() == 10);
  CHECK(trace.spans.front().name == "15");
  CHECK(trace.spans.back().name == "24");
  CHECK(trace.dropped_spans == 15);
}

TEST_CASE("a scoped span records when it ends, and without a recorder does nothing", "[trace]") {
  Recorder recorder(0);
  const int lane = recorder.lane("compute");
  {
    const ScopedSpan outer(&recorder, lane, "outer", Category::kForward);
    const ScopedSpan inner(&recorder, lane, "inner", Category::kForward);
    const ScopedSpan nothing(nullptr, 99, "nothing", Category::kForward);
    CHECK(recorder.snapshot().spans.empty());
  }
  const RankTrace trace = recorder.snapshot();
  REQUIRE(trace.spans.size() == 2);
  CHECK(trace.spans[0].name == "outer");
  CHECK(trace.spans[0].end_ns >= trace.spans[1].end_ns);
}

TEST_CASE("several threads record at once without losing a span", "[trace]") {
  Recorder recorder(0);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&recorder, t] {
        const int lane = recorder.lane("thread " + std::to_string(t));
        for (int i = 0; i < 500; ++i) const ScopedSpan span(&recorder, lane, "work", Category::kOther);
      });
  }
  const RankTrace trace = recorder.snapshot();
  CHECK(trace.spans.size() == 2000);
  CHECK(trace.lanes.size() == 4);
}

TEST_CASE("steady time plus the offset is the wall clock", "[trace]") {
  const Recorder recorder(0);
  const std::chrono::nanoseconds steady = Clock::now().time_since_epoch();
  const std::chrono::nanoseconds wall = std::chrono::system_clock::now().time_since_epoch();
  const auto difference = wall - (steady + std::chrono::nanoseconds(recorder.snapshot().wall_offset_ns));
  CHECK(std::chrono::abs(difference) < 1s);
}

TEST_CASE("a recorder asks for messages only if it was told to", "[trace]") {
  CHECK_FALSE(Recorder(0).has_messages());
  CHECK(Recorder(0, 10, MessageDetail::kMessages).has_messages());
}
