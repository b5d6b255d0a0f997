#include "run/fault_injector.hpp"

#include <cstdlib>
#include <vector>

#include "base/error.hpp"
#include "support/captured_stderr.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using namespace std::chrono_literals;
using fault::Kind;

namespace {

using Seconds = std::chrono::duration<double>;

// For how long the step sleeps; 0 if it did not sleep for as long as it says.
double pause_of_step(run::FaultInjector& injector, std::int64_t step, Seconds own_time) {
  const auto begin = std::chrono::steady_clock::now();
  injector.begin_step(step, own_time);
  const Seconds slept = std::chrono::steady_clock::now() - begin;  // sleeping is never shorter than asked for
  return slept >= injector.last_pause() ? injector.last_pause().count() : 0;
}

}  // namespace

TEST_CASE("a fault is armed in its step, on its rank and in its attempt only", "[run]") {
  const auto faults = fault::parse_faults("rank=1 step=2 nan; rank=0 step=2 oom; rank=1 step=2 disk-full attempt=1");
  const test::CapturedStderr captured;
  run::FaultInjector injector(faults, 1, 2, 0);
  injector.begin_step(1, 0s);
  CHECK_FALSE(fault::is_armed(Kind::kNan));
  injector.begin_step(2, 0s);
  CHECK(fault::take(Kind::kNan));
  CHECK_FALSE(fault::is_armed(Kind::kOutOfMemory));
  CHECK_FALSE(fault::is_armed(Kind::kDiskFull));
  injector.finish();
  CHECK_THAT(captured.text(), ContainsSubstring("rank 1") && ContainsSubstring("injected fault: rank=1 step=2 nan"));
  CHECK_THAT(captured.text(), !ContainsSubstring("did not happen"));
}

TEST_CASE("a restarted job is spared, unless the fault names its attempt", "[run]") {
  const test::CapturedStderr captured;
  run::FaultInjector spared(fault::parse_faults("rank=0 step=1 nan"), 0, 1, 1);
  spared.begin_step(1, 0s);
  CHECK_FALSE(fault::is_armed(Kind::kNan));
  for (const char* text : {"rank=0 step=1 nan attempt=1", "rank=0 step=1 nan attempt=any"}) {
    run::FaultInjector meant(fault::parse_faults(text), 0, 1, 1);
    meant.begin_step(1, 0s);
    CHECK(fault::take(Kind::kNan));
  }
}

TEST_CASE("a slow rank sleeps in every step from the named one on", "[run]") {
  const test::CapturedStderr captured;
  run::FaultInjector seconds(fault::parse_faults("rank=0 step=2 slow=0.05s"), 0, 1, 0);
  CHECK(pause_of_step(seconds, 1, 0s) == 0);
  CHECK(pause_of_step(seconds, 2, 0s) == Approx(0.05));
  CHECK(pause_of_step(seconds, 3, 70ms) == Approx(0.05));
  run::FaultInjector factor(fault::parse_faults("rank=0 step=2 slow=3x"), 0, 1, 0);
  CHECK(pause_of_step(factor, 1, 20ms) == 0);
  CHECK(pause_of_step(factor, 2, 20ms) == Approx(0.04));
  CHECK(pause_of_step(factor, 3, 60ms) == Approx(0.04));  // of the 60 ms, 40 are the last pause: twice the other 20
  CHECK(pause_of_step(factor, 4, 10ms) == 0);             // less than the pause was: nothing of the step's own is left
}

TEST_CASE("a rank with other samples has as many, from one element further on, in one step only", "[run]") {
  const test::CapturedStderr captured;
  run::FaultInjector injector(fault::parse_faults("rank=0 step=2 batch"), 0, 1, 0);
  const auto elements = [](const auto& tensor) {
    const auto span = tensor.template span<std::int32_t>();
    return std::vector<std::int32_t>(span.begin(), span.end());
  };
  for (std::int64_t step = 1; step <= 3; ++step) {
    const data::Batch batch{Tensor::from<std::int32_t>(std::vector{1, 2, 3, 4}, {2, 2}),
                            Tensor::from<std::int32_t>(std::vector{2, 3, 4, 5}, {2, 2}),
                            Tensor::from<std::int64_t>(std::vector<std::int64_t>{10, 20}, {2})};
    injector.begin_step(step, 0s);
    injector.read_batch(batch);
    const bool is_other = step == 2;
    CHECK(elements(batch.inputs) == (is_other ? std::vector{2, 3, 4, 1} : std::vector{1, 2, 3, 4}));
    CHECK(elements(batch.targets) == (is_other ? std::vector{3, 4, 5, 2} : std::vector{2, 3, 4, 5}));
    CHECK(batch.sample_ids.span<std::int64_t>()[0] == (is_other ? 11 : 10));
  }
}

TEST_CASE("faults that have not happened are said at the end, with the reason", "[run]") {
  const test::CapturedStderr captured;
  run::FaultInjector injector(
      fault::parse_faults("rank=0 step=9 kill; rank=0 step=1 drop; rank=0 step=1 disk-full; rank=0 step=1 oom"), 0, 2,
      0);
  injector.begin_step(1, 0s);
  CHECK(fault::take(Kind::kOutOfMemory));
  injector.finish();
  CHECK_THAT(captured.text(),
             ContainsSubstring("\"rank=0 step=9 kill\" did not happen: the training ended with step 1"));
  CHECK_THAT(captured.text(), ContainsSubstring("\"rank=0 step=1 drop\" did not happen: no message went over TCP"));
  CHECK_THAT(captured.text(), ContainsSubstring("\"rank=0 step=1 disk-full\" did not happen: rank 0 has written no"));
  CHECK_THAT(captured.text(), !ContainsSubstring("oom\" did not happen"));
  CHECK_FALSE(fault::is_armed(Kind::kDrop));
}

TEST_CASE("a fault for a rank that the job does not have is an error that names the variable", "[run]") {
  CHECK_THROWS_WITH(
      run::FaultInjector(fault::parse_faults("rank=2 step=1 nan"), 0, 2, 0),
      ContainsSubstring("LOCKSTEP_INJECT") && ContainsSubstring("names rank 2") && ContainsSubstring("0 to 1"));
  CHECK_THROWS_AS(run::FaultInjector(fault::parse_faults("rank=0 step=1 drop peer=5"), 0, 2, 0), FormatError);
  setenv("LOCKSTEP_INJECT", "rank=0 step=1 kil", 1);
  CHECK_THROWS_WITH(run::FaultInjector::from_environment(), ContainsSubstring("LOCKSTEP_INJECT: the fault"));
  unsetenv("LOCKSTEP_INJECT");
  CHECK(run::FaultInjector::from_environment().empty());
}
