// Times beside formulas, and beside a longest path that the test finds in another way.
#include "11_pipeline_parallel/schedules/timeline.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/philox.hpp"
#include "support/catch.hpp"

namespace lockstep::pipeline {
namespace {

using Catch::Matchers::WithinRel;

// The last time at which anything that `action` waits for ends. Rounds until nothing changes any more: no order of the
// actions is needed.
std::map<Action, double> ends_by_relaxing(const Schedule& schedule, const Costs& costs) {
  std::map<Action, double> ends;
  const int stages = stages_of(schedule), ranks = static_cast<int>(schedule.size());
  for (bool changes = true; changes;) {
    changes = false;
    for (const auto& list : schedule) {
      for (std::size_t i = 0; i < list.size(); ++i) {
        const auto& [pass, stage, micro_batch] = list[i];
        double begin = i == 0 ? 0 : ends[list[i - 1]];
        const int other = stage + (pass == Pass::kForward ? -1 : 1);
        if (other >= 0 && other < stages)
          begin = std::max(begin, ends[{pass, other, micro_batch}] + (ranks > 1 ? costs.message : 0));
        const double factor = costs.stage_factors.empty() ? 1 : costs.stage_factors[static_cast<std::size_t>(stage)];
        const double end = begin + factor * (pass == Pass::kForward ? costs.forward : costs.backward);
        changes = changes || ends[list[i]] != end;
        ends[list[i]] = end;
      }
    }
  }
  return ends;
}

}  // namespace

TEST_CASE("the bubble of every schedule is that of its formula, and so is what a rank holds", "[pipeline_parallel]") {
  for (int p = 1; p <= 6; ++p) {
    for (const int m : {1, 2, 3, 5, 8, 13}) {
      for (const Costs& costs : {Costs{}, Costs{.forward = 3, .backward = 1}}) {
        INFO("p = " << p << ", m = " << m << ", forward " << costs.forward);
        const Timeline one_by_one = simulate(naive(p, m), costs), all_first = simulate(gpipe(p, m), costs),
                       in_turn = simulate(one_forward_one_backward(p, m), costs);
        CHECK_THAT(one_by_one.idle_per_busy() + 1, WithinRel(p, 1e-12));
        CHECK_THAT(all_first.idle_per_busy() + 1, WithinRel(1 + (p - 1.0) / m, 1e-12));
        CHECK_THAT(in_turn.idle_per_busy() + 1, WithinRel(1 + (p - 1.0) / m, 1e-12));
        for (int r = 0; r < p; ++r) {
          const auto rank = static_cast<std::size_t>(r);
          CHECK(one_by_one.most_held[rank] == 1);
          CHECK(all_first.most_held[rank] == m);
          CHECK(in_turn.most_held[rank] == std::min(m, p - r));
          CHECK_THAT(in_turn.busy(r), WithinRel(m * (costs.forward + costs.backward), 1e-12));
          CHECK_THAT(in_turn.idle_per_busy(r) + 1, WithinRel(1 + (p - 1.0) / m, 1e-12));
        }
      }
    }
  }
}

TEST_CASE("with v stages on each rank the bubble is v times shorter, and more is held", "[pipeline_parallel]") {
  for (int p = 1; p <= 5; ++p) {
    for (int v = 1; v <= 3; ++v) {
      for (const int m : {p, 2 * p, 5 * p}) {
        INFO("p = " << p << ", v = " << v << ", m = " << m);
        const Timeline timeline = simulate(interleaved(p, v, m));
        CHECK_THAT(timeline.idle_per_busy() + 1, WithinRel(1 + (p - 1.0) / (v * m), 1e-12));
        for (int r = 0; r < p; ++r)
          CHECK(timeline.most_held[static_cast<std::size_t>(r)] == std::min(v * m, 2 * (p - 1 - r) + (v - 1) * p + 1));
      }
    }
  }
}

TEST_CASE("two ranks and a message that takes half as long as a forward pass", "[pipeline_parallel]") {
  const Timeline timeline = simulate(naive(2, 1), {.message = 0.5});
  using Row = std::vector<TimedAction>;
  CHECK(timeline.ranks[0] == Row{{{Pass::kForward, 0, 0}, 0, 1}, {{Pass::kBackward, 0, 0}, 5, 7}});
  CHECK(timeline.ranks[1] == Row{{{Pass::kForward, 1, 0}, 1.5, 2.5}, {{Pass::kBackward, 1, 0}, 2.5, 4.5}});
  CHECK(timeline.duration() == 7);
  CHECK_THAT(timeline.idle_per_busy(), WithinRel(4.0 / 3, 1e-12));
}

TEST_CASE("an evaluation keeps nothing, and waits only at both ends", "[pipeline_parallel]") {
  const Timeline timeline = simulate(forward_only(3, 4));
  CHECK(timeline.most_held == std::vector<int>{0, 0, 0});
  CHECK(timeline.duration() == 6);
  CHECK(timeline.ranks[2].front().begin == 2);
}

TEST_CASE("with any costs all actions end when the longest path says", "[pipeline_parallel]") {
  PhiloxSequence random(12);
  const auto cost = [&] { return static_cast<double>(random.next_below(8)); };
  for (int round = 0; round < 100; ++round) {
    const auto p = static_cast<int>(1 + random.next_below(4)), m = static_cast<int>(1 + random.next_below(6)),
               v = static_cast<int>(1 + random.next_below(3));
    const Schedule schedule = round % 3 == 0   ? one_forward_one_backward(p, m)
                              : round % 3 == 1 ? gpipe(p, m)
                                               : interleaved(p, v, p * m);
    Costs costs{.forward = 1 + cost(), .backward = 1 + cost(), .message = cost()};
    for (int stage = 0; stage < stages_of(schedule); ++stage) costs.stage_factors.push_back(1 + cost());
    const Timeline timeline = simulate(schedule, costs);
    const std::map<Action, double> ends = ends_by_relaxing(schedule, costs);
    double last = 0;
    for (std::size_t rank = 0; rank < schedule.size(); ++rank) {
      REQUIRE(timeline.ranks[rank].size() == schedule[rank].size());
      for (std::size_t i = 0; i < schedule[rank].size(); ++i) {
        const TimedAction& timed = timeline.ranks[rank][i];
        CHECK(timed.action == schedule[rank][i]);
        CHECK(timed.end == ends.at(timed.action));
        CHECK(timed.end - timed.begin == costs.of(timed.action));
        last = std::max(last, timed.end);
      }
    }
    CHECK(timeline.duration() == last);
  }
}

TEST_CASE("a timeline needs a schedule that runs, and a factor for each stage", "[pipeline_parallel]") {
  const Action forward{Pass::kForward, 0, 0}, backward{Pass::kBackward, 0, 0};
  CHECK_THROWS_AS(simulate({{backward, forward}}), ContractError);
  CHECK_THROWS_WITH(simulate(naive(3, 1), {.stage_factors = {1, 2}}), "2 stage factors for 3 stages");
  CHECK(simulate({}).duration() == 0);
}

}  // namespace lockstep::pipeline
