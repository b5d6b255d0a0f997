// Schedules beside those that are written out here by hand, and random ones beside an executor of the test's own.
#include "11_pipeline_parallel/schedules/schedule.hpp"

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/philox.hpp"
#include "support/catch.hpp"

namespace lockstep::pipeline {
namespace {

using Catch::Matchers::Equals;
using Actions = std::vector<Action>;

// "F0 B12" of one stage; "F0.2" is of stage 2.
Actions actions_of(int stage, const std::string& text) {
  Actions actions;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::size_t dot = word.find('.');
    actions.push_back({word[0] == 'F' ? Pass::kForward : Pass::kBackward,
                       dot == std::string::npos ? stage : std::stoi(word.substr(dot + 1)), std::stoi(word.substr(1))});
  }
  return actions;
}

Schedule schedule_of(const std::vector<std::string>& ranks) {
  Schedule schedule;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    schedule.push_back(actions_of(static_cast<int>(rank), ranks[rank]));
  return schedule;
}

std::string complaint_about(const Schedule& schedule) {
  try {
    require_executable(schedule);
  } catch (const ContractError& error) {
    return error.what();
  }
  return "";
}

// The rules once more: what must be done before `action`.
Actions inputs_of(const Action& action, int stages) {
  Actions inputs;
  const int neighbour = action.stage + (action.pass == Pass::kForward ? -1 : 1);
  if (neighbour >= 0 && neighbour < stages) inputs.push_back({action.pass, neighbour, action.micro_batch});
  if (action.pass == Pass::kBackward) inputs.push_back({Pass::kForward, action.stage, action.micro_batch});
  return inputs;
}

// Whether ranks that go through their lists come to the end of them.
bool runs_to_the_end(const Schedule& schedule, int stages) {
  std::set<Action> done;
  std::vector<std::size_t> at(schedule.size());
  for (bool moves = true; moves;) {
    moves = false;
    for (std::size_t rank = 0; rank < schedule.size(); ++rank) {
      while (at[rank] < schedule[rank].size() &&
             std::ranges::all_of(inputs_of(schedule[rank][at[rank]], stages),
                                 [&](const Action& input) { return done.contains(input); })) {
        done.insert(schedule[rank][at[rank]++]);
        moves = true;
      }
    }
  }
  for (std::size_t rank = 0; rank < schedule.size(); ++rank)
    if (at[rank] < schedule[rank].size()) return false;
  return true;
}

Action action_in(const std::smatch& match, std::size_t first) {
  return {match[first] == "F" ? Pass::kForward : Pass::kBackward, std::stoi(match[first + 2]),
          std::stoi(match[first + 1])};
}

// A rank that has come to `waiting` waits for `needed`.
struct Wait {
  Action waiting, needed;
};

// The action of `stage` that uses `needed`.
Action user_of(const Action& needed, int stage, int stages) {
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    const Action user{pass, stage, needed.micro_batch};
    const Actions inputs = inputs_of(user, stages);
    if (std::ranges::find(inputs, needed) != inputs.end()) return user;
  }
  FAIL("stage " << stage << " has no use for " << text_of(needed));
  return {};
}

// The circle that a message names, link by link. The last one closes the circle, and repeats the first.
std::vector<Wait> circle_in(const std::string& message, int stages) {
  static const std::regex beginning("stage ([0-9]+) waits for ([FB])([0-9]+) of stage ([0-9]+)"),
      link(
          "^, which (comes after ([FB])([0-9]+) of stage ([0-9]+), which )?waits for ([FB])([0-9]+) of stage ([0-9]+)");
  std::smatch match;
  REQUIRE(std::regex_search(message, match, beginning));
  const Action first = action_in(match, 2);
  std::vector<Wait> waits{{user_of(first, std::stoi(match[1]), stages), first}};
  std::string rest = match.suffix();
  while (std::regex_search(rest, match, link)) {
    const Action needed = action_in(match, 5);
    const Action waiting = match[1].matched ? action_in(match, 2) : user_of(needed, waits.back().needed.stage, stages);
    waits.push_back({waiting, needed});
    rest = match.suffix();
  }
  CHECK(rest.empty());
  return waits;
}

// Every link of the message is true of the schedule.
void check_circle(const Schedule& schedule, const std::string& message) {
  INFO(message);
  const int stages = stages_of(schedule), ranks = static_cast<int>(schedule.size());
  const auto place_of = [&](const Action& action) {
    const Actions& list = schedule[static_cast<std::size_t>(action.stage % ranks)];
    return std::ranges::find(list, action) - list.begin();
  };
  const std::vector<Wait> waits = circle_in(message, stages);
  REQUIRE(waits.size() >= 2);
  CHECK(waits.front().needed == waits.back().needed);
  for (std::size_t i = 0; i < waits.size(); ++i) {
    CHECK(user_of(waits[i].needed, waits[i].waiting.stage, stages) == waits[i].waiting);
    if (i == 0) continue;
    CHECK(waits[i].waiting.stage % ranks == waits[i - 1].needed.stage % ranks);
    CHECK(place_of(waits[i].waiting) <= place_of(waits[i - 1].needed));
  }
}

// A schedule that runs: ranks that are chosen at random do an action that is possible, also chosen at random.
Schedule random_run(PhiloxSequence& random, int ranks, int stages, int micro_batches) {
  Actions left;
  for (int stage = 0; stage < stages; ++stage)
    for (int i = 0; i < micro_batches; ++i)
      for (const Pass pass : {Pass::kForward, Pass::kBackward}) left.push_back({pass, stage, i});
  Schedule schedule(static_cast<std::size_t>(ranks));
  std::set<Action> done;
  while (!left.empty()) {
    const auto next = left.begin() + static_cast<std::ptrdiff_t>(random.next_below(left.size()));
    const Actions inputs = inputs_of(*next, stages);
    if (!std::ranges::all_of(inputs, [&](const Action& input) { return done.contains(input); })) continue;
    done.insert(*next);
    schedule[static_cast<std::size_t>(next->stage % ranks)].push_back(*next);
    left.erase(next);
  }
  return schedule;
}

void shuffle(PhiloxSequence& random, Actions& actions) {
  for (std::size_t i = actions.size(); i > 1; --i) std::swap(actions[i - 1], actions[random.next_below(i)]);
}

// Puts `swaps` pairs of neighbours of one list in the other order.
void disturb(PhiloxSequence& random, Schedule& schedule, std::uint64_t swaps) {
  for (; swaps > 0; --swaps) {
    Actions& list = schedule[random.next_below(schedule.size())];
    const std::size_t i = 1 + random.next_below(list.size() - 1);
    std::swap(list[i - 1], list[i]);
  }
}

}  // namespace

TEST_CASE("the schedules of 3 ranks and 4 micro-batches", "[pipeline_parallel]") {
  CHECK(naive(3, 4) == schedule_of({"F0 B0 F1 B1 F2 B2 F3 B3", "F0 B0 F1 B1 F2 B2 F3 B3", "F0 B0 F1 B1 F2 B2 F3 B3"}));
  CHECK(gpipe(3, 4) == schedule_of({"F0 F1 F2 F3 B0 B1 B2 B3", "F0 F1 F2 F3 B0 B1 B2 B3", "F0 F1 F2 F3 B0 B1 B2 B3"}));
  CHECK(one_forward_one_backward(3, 4) ==
        schedule_of({"F0 F1 F2 B0 F3 B1 B2 B3", "F0 F1 B0 F2 B1 F3 B2 B3", "F0 B0 F1 B1 F2 B2 F3 B3"}));
  CHECK(forward_only(3, 4) == schedule_of({"F0 F1 F2 F3", "F0 F1 F2 F3", "F0 F1 F2 F3"}));
}

TEST_CASE("with fewer micro-batches than ranks 1F1B begins as GPipe", "[pipeline_parallel]") {
  CHECK(one_forward_one_backward(4, 2) == schedule_of({"F0 F1 B0 B1", "F0 F1 B0 B1", "F0 F1 B0 B1", "F0 B0 F1 B1"}));
  CHECK(one_forward_one_backward(3, 1) == schedule_of({"F0 B0", "F0 B0", "F0 B0"}));
}

// Narayanan et al., 2021, fig. 4, with 2 ranks.
TEST_CASE("the interleaved schedule of 2 ranks with 2 stages each", "[pipeline_parallel]") {
  const std::string rank_0 = "F0.0 F1.0 F0.2 F1.2 F2.0 B0.2 F3.0 B1.2 F2.2 B0.0 F3.2 B1.0 B2.2 B3.2 B2.0 B3.0";
  const std::string rank_1 = "F0.1 F1.1 F0.3 B0.3 F1.3 B1.3 F2.1 B0.1 F3.1 B1.1 F2.3 B2.3 F3.3 B3.3 B2.1 B3.1";
  CHECK(interleaved(2, 2, 4) == schedule_of({rank_0, rank_1}));
  CHECK(interleaved(3, 1, 6).at(2) == one_forward_one_backward(3, 6).at(2));
  CHECK_THROWS_AS(interleaved(3, 2, 4), ContractError);
}

TEST_CASE("every schedule runs, and the stages are on their ranks", "[pipeline_parallel]") {
  for (int ranks = 1; ranks <= 6; ++ranks) {
    for (int micro_batches = 1; micro_batches <= 9; ++micro_batches) {
      INFO(ranks << " ranks, " << micro_batches << " micro-batches");
      for (const auto& [name, kind] : schedule_kinds()) {
        const Schedule schedule = make_schedule(kind, ranks, micro_batches);
        CHECK(complaint_about(schedule) == "");
        CHECK(runs_to_the_end(schedule, ranks));
        CHECK(stages_of(schedule) == ranks);
        for (const Actions& list : schedule) CHECK(std::ssize(list) == 2 * micro_batches);
      }
      CHECK(complaint_about(forward_only(ranks, micro_batches)) == "");
      for (const int stages : {1, 2, 3}) {
        const Schedule schedule = interleaved(ranks, stages, ranks * micro_batches);
        CHECK(complaint_about(schedule) == "");
        CHECK(runs_to_the_end(schedule, ranks * stages));
        CHECK(stages_of(schedule) == ranks * stages);
      }
    }
  }
}

// So gradients are summed in one order, and a link delivers what its receiver takes next.
TEST_CASE("on every rank passes of one kind go through the micro-batches in order", "[pipeline_parallel]") {
  for (const auto& [name, kind] : schedule_kinds()) {
    for (const Actions& list : make_schedule(kind, 4, 7)) {
      int next[2] = {0, 0};
      for (const Action& action : list) CHECK(action.micro_batch == next[static_cast<int>(action.pass)]++);
    }
  }
}

TEST_CASE("schedules have names, and numbers that make sense", "[pipeline_parallel]") {
  for (const auto& [name, kind] : schedule_kinds()) {
    CHECK(name_of(kind) == name);
    CHECK(parse_schedule_kind(name) == kind);
  }
  CHECK(parse_schedule_kind("1f1b") == ScheduleKind::kOneForwardOneBackward);
  CHECK_THROWS_WITH(parse_schedule_kind("dualpipe"), Catch::Matchers::ContainsSubstring("use naive, gpipe or 1f1b"));
  CHECK_THROWS_AS(naive(0, 1), ContractError);
  CHECK_THROWS_AS(gpipe(2, 0), ContractError);
  CHECK(stages_of({}) == 0);
}

TEST_CASE("a list with a foreign, a doubled or a missing action is refused", "[pipeline_parallel]") {
  CHECK(complaint_about({actions_of(0, "F0"), actions_of(1, "F0 F0.2")}) ==
        "rank 1 has F0 of stage 2, which belongs to rank 0");
  CHECK(complaint_about(schedule_of({"F0 F0", "F0"})) == "rank 0 has F0 of stage 0 twice");
  CHECK(complaint_about(schedule_of({"F0 F1", "F0"})) == "no rank does F1 of stage 1, which other stages do");
  CHECK(complaint_about(schedule_of({"F0", "F0 F1"})) == "no rank does F1 of stage 0, which other stages do");
  CHECK(complaint_about(schedule_of({"F0 B0 B1", "F0 B0 B1"})) ==
        "no rank does F1 of stage 0, which B1 of stage 0 needs");
  CHECK(complaint_about({{{Pass::kForward, -1, 0}}}) ==
        "rank 0 has F0 of stage -1; stages and micro-batches count from 0");
}

TEST_CASE("ranks that wait for each other are named", "[pipeline_parallel]") {
  CHECK(complaint_about(schedule_of({"F0 B0 F1 B1", "F0 F1 B0 B1"})) ==
        "the schedule stops: stage 0 waits for B0 of stage 1, which waits for F1 of stage 0, which waits for B0 of "
        "stage 1");
  CHECK(complaint_about(schedule_of({"F0 B0", "B0 F0"})) ==
        "the schedule stops: stage 1 waits for F0 of stage 1, which comes after B0 of stage 1, which waits for F0 of "
        "stage 1");
  // Rank 0 waits, too, but nobody waits for it.
  CHECK(complaint_about(schedule_of({"F0 F1 B0 B1", "F0 B0 F1 B1", "F0 F1 B0 B1"})) ==
        "the schedule stops: stage 1 waits for B0 of stage 2, which waits for F1 of stage 1, which waits for B0 of "
        "stage 2");
}

TEST_CASE("1000 random schedules run, or the circle that is named is one", "[pipeline_parallel]") {
  PhiloxSequence random(11);
  int running = 0;
  for (int round = 0; round < 1000; ++round) {
    const auto ranks = static_cast<int>(1 + random.next_below(4)),
               stages = ranks * static_cast<int>(1 + random.next_below(2)),
               micro_batches = static_cast<int>(1 + random.next_below(4));
    Schedule schedule = random_run(random, ranks, stages, micro_batches);
    if (round % 4 == 0)
      for (Actions& list : schedule) shuffle(random, list);
    else
      disturb(random, schedule, random.next_below(6));
    const bool runs = runs_to_the_end(schedule, stages);
    const std::string complaint = complaint_about(schedule);
    REQUIRE(complaint.empty() == runs);
    if (runs)
      ++running;
    else
      check_circle(schedule, complaint);
  }
  CHECK(running > 250);
  CHECK(running < 750);
}

}  // namespace lockstep::pipeline
