// The steps that a process keeps in memory.
#include "run/step_history.hpp"

#include <vector>

#include "support/catch.hpp"

using namespace lockstep;
using run::StepHistory;

namespace {

StepHistory history_of(std::int64_t steps, std::size_t most_steps) {
  StepHistory history(most_steps);
  for (std::int64_t step = 1; step <= steps; ++step) {
    run::StepMetrics metrics;
    metrics.step = step;
    metrics.peak_memory_mib = {1};
    metrics.sample_ids = {2};
    history.add(metrics);
  }
  return history;
}

std::vector<std::int64_t> numbers(std::span<const run::StepMetrics> steps) {
  std::vector<std::int64_t> all;
  for (const run::StepMetrics& step : steps) all.push_back(step.step);
  return all;
}

}  // namespace

TEST_CASE("up to a number all steps are kept, and of a longer run the last one and evenly some of the others",
          "[run][memory]") {
  using Numbers = std::vector<std::int64_t>;
  CHECK(history_of(0, 4).empty());
  CHECK(numbers(history_of(4, 4).steps()) == Numbers{1, 2, 3, 4});
  CHECK(numbers(history_of(5, 4).steps()) == Numbers{1, 3, 5});
  CHECK(numbers(history_of(6, 4).steps()) == Numbers{1, 3, 5, 6});
  CHECK(numbers(history_of(7, 4).steps()) == Numbers{1, 3, 5, 7});
  CHECK(numbers(history_of(8, 4).steps()) == Numbers{1, 5, 8});
  CHECK(numbers(history_of(9, 4).steps()) == Numbers{1, 5, 9});
  CHECK(numbers(history_of(12, 4).steps()) == Numbers{1, 5, 9, 12});
  for (std::int64_t steps = 1; steps < 100; ++steps) {
    const StepHistory history = history_of(steps, 7);
    CHECK(history.steps().size() <= 7);
    CHECK(history.last().step == steps);
  }
}

TEST_CASE("the recent steps are all there, however long the run is", "[run][memory]") {
  CHECK(numbers(history_of(3, 2).recent()) == std::vector<std::int64_t>{1, 2, 3});
  const std::vector<std::int64_t> recent = numbers(history_of(1000, 2).recent());
  REQUIRE(recent.size() == StepHistory::kRecentSteps);
  for (std::size_t i = 0; i < recent.size(); ++i) CHECK(recent[i] == 981 + static_cast<std::int64_t>(i));
}

TEST_CASE("only the last step has its lists", "[run][memory]") {
  const StepHistory history = history_of(6, 4);
  for (const run::StepMetrics& step : history.steps()) CHECK(step.sample_ids.capacity() == 0);
  CHECK(history.steps().front().peak_memory_mib.capacity() == 0);
  CHECK(history.last().peak_memory_mib.size() == 1);
}
