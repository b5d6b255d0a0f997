// Schedules for a limit on what ranks hold: the judge of exercise 11.4 asks for one as short as PlayedSchedule's, and
// lesson 11 has its times. Here all schedules of small pipelines are tried.
#include "played_schedule.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <vector>

#include "11_pipeline_parallel/schedules/timeline.hpp"
#include "base/error.hpp"
#include "support/catch.hpp"

namespace lockstep::pipeline {
namespace {

using Actions = std::vector<Action>;
using exercise::limits_of;
using exercise::PlayedSchedule;
using exercise::Prefer;

PlayedSchedule played(int micro_batches, const std::vector<int>& most_held) {
  return PlayedSchedule(micro_batches, limits_of(most_held), Prefer::kBackward, 2);
}

// All lists of a stage whose forward passes are in ascending order, and its backward passes as well.
std::vector<Actions> all_lists(int stage, int micro_batches) {
  std::vector<Actions> all;
  Actions list;
  const std::function<void(int, int)> extend = [&](int forward, int backward) {
    if (backward == micro_batches) all.push_back(list);
    for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
      const bool is_forward = pass == Pass::kForward;
      if (is_forward ? forward == micro_batches : backward == forward) continue;
      list.push_back({pass, stage, is_forward ? forward : backward});
      extend(forward + (is_forward ? 1 : 0), backward + (is_forward ? 0 : 1));
      list.pop_back();
    }
  };
  extend(0, 0);
  return all;
}

// By what the ranks hold, the least units of any schedule.
std::map<std::vector<int>, double> shortest_by_held(int ranks, int micro_batches) {
  std::map<std::vector<int>, double> shortest;
  Schedule schedule;
  const std::function<void()> extend = [&] {
    if (static_cast<int>(schedule.size()) < ranks) {
      for (const Actions& list : all_lists(static_cast<int>(schedule.size()), micro_batches)) {
        schedule.push_back(list);
        extend();
        schedule.pop_back();
      }
      return;
    }
    try {
      const Timeline timeline = simulate(schedule);
      const auto [known, is_new] = shortest.try_emplace(timeline.most_held, timeline.duration());
      known->second = std::min(known->second, timeline.duration());
    } catch (const ContractError&) {  // ranks wait for each other
    }
  };
  extend();
  return shortest;
}

// Calls `check` with all limits from 1 to `most` on each rank.
void for_all_limits(int ranks, int most, const std::function<void(const std::vector<int>&)>& check) {
  for (std::vector<int> limits(static_cast<std::size_t>(ranks), 1); !limits.empty();) {
    check(limits);
    while (!limits.empty() && limits.back() == most) limits.pop_back();
    if (limits.empty()) return;
    ++limits.back();
    limits.resize(static_cast<std::size_t>(ranks), 1);
  }
}

}  // namespace

TEST_CASE("of all schedules within limits, none is shorter than the one that is played", "[pipeline_parallel]") {
  struct Case {
    int ranks, micro_batches;
  };
  const auto [ranks, micro_batches] = GENERATE(Case{1, 4}, Case{2, 4}, Case{2, 5}, Case{3, 3}, Case{3, 4});
  const std::map<std::vector<int>, double> shortest = shortest_by_held(ranks, micro_batches);
  for_all_limits(ranks, ranks + 1, [&](const std::vector<int>& limits) {
    INFO(ranks << " ranks, " << micro_batches << " micro-batches, limits "
               << Catch::StringMaker<std::vector<int>>::convert(limits));
    double least = 1e9;
    for (const auto& [held, units] : shortest)
      if (std::ranges::equal(held, limits, std::less_equal())) least = std::min(least, units);
    const PlayedSchedule found = played(micro_batches, limits);
    CHECK(found.units() == std::lround(least));
    const Timeline timeline = simulate(found.schedule());
    CHECK(timeline.duration() == found.units());
    CHECK(std::ranges::equal(timeline.most_held, limits_of(limits), std::less_equal()));
  });
}

TEST_CASE("with equal limits a step takes as long as lesson 11 says", "[pipeline_parallel]") {
  struct Row {
    int most_held, units, units_in_turn;
  };
  for (const auto& [most, units, units_in_turn] : {Row{4, 33, 33}, Row{3, 39, 48}, Row{2, 51, 69}, Row{1, 96, 96}}) {
    const std::vector<int> limits(4, most);
    CHECK(played(8, limits).units() == units);
    CHECK(units == 3 * (4 * (7 / most) + 7 % most + 4));
    Schedule in_turn;
    for (int rank = 0; rank < 4; ++rank) {
      const int lead = limits_of(limits)[static_cast<std::size_t>(rank)] - 1;
      Actions& actions = in_turn.emplace_back();
      for (int i = 0; i < 8 + lead; ++i) {
        if (i < 8) actions.push_back({Pass::kForward, rank, i});
        if (i >= lead) actions.push_back({Pass::kBackward, rank, i - lead});
      }
    }
    CHECK(simulate(in_turn).duration() == units_in_turn);
  }
}

}  // namespace lockstep::pipeline
