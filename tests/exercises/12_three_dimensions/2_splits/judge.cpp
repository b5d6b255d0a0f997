#include <algorithm>
#include <map>
#include <tuple>

#include "12_three_dimensions/2_splits/splits.hpp"
#include "base/error.hpp"
#include "base/philox.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_12_2 {

using splits::GridShape;
using splits::kNoColor;
using splits::Place;
using splits::Split;
using Ranks = std::vector<int>;

// The groups of one call, each by its ranks in their order; in the order of their first ranks.
struct Call {
  std::string what;  // "the call for the tensor groups"
  std::vector<Ranks> groups;
};

std::vector<Place> places_of(const GridShape& shape) {
  std::vector<Place> places;
  for (int pipeline = 0; pipeline < shape.pipeline; ++pipeline)
    for (int data = 0; data < shape.data; ++data)
      for (int tensor = 0; tensor < shape.tensor; ++tensor) places.push_back({pipeline, data, tensor});
  return places;
}

// Groups of the ranks whose places are alike, leaving out some.
Call call_for(const std::string& what, const std::vector<Place>& places, const auto& is_member, const auto& are_alike) {
  Call call{what, {}};
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    if (!is_member(places[rank])) continue;
    const auto group = std::ranges::find_if(call.groups, [&](const Ranks& other) {
      return are_alike(places[static_cast<std::size_t>(other.front())], places[rank]);
    });
    (group != call.groups.end() ? *group : call.groups.emplace_back()).push_back(static_cast<int>(rank));
  }
  return call;
}

std::vector<Call> expected_calls(const GridShape& shape) {
  const std::vector<Place> places = places_of(shape);
  const auto everybody = [](const Place&) { return true; };
  const auto differ_in_stage = [](const Place& a, const Place& b) { return a.data == b.data && a.tensor == b.tensor; };
  std::vector<Call> calls{
      call_for("for the tensor groups", places, everybody,
               [](const Place& a, const Place& b) { return a.pipeline == b.pipeline && a.data == b.data; }),
      call_for("for the data groups", places, everybody,
               [](const Place& a, const Place& b) { return a.pipeline == b.pipeline && a.tensor == b.tensor; }),
      call_for("for the pipeline groups", places, everybody, differ_in_stage)};
  const auto add_links = [&](const std::string& what, int earlier, int later) {
    calls.push_back(call_for(
        what, places, [&](const Place& place) { return place.pipeline == earlier || place.pipeline == later; },
        differ_in_stage));
  };
  for (int stage = 0; stage + 1 < shape.pipeline; ++stage) {
    const std::string border = concat(" between stages ", stage, " and ", stage + 1);
    add_links("for activations" + border, stage, stage + 1);
    add_links("for gradients" + border, stage, stage + 1);
  }
  if (shape.pipeline > 1) add_links("for the table", 0, shape.pipeline - 1);
  return calls;
}

// The groups that one call of all ranks makes.
std::vector<Ranks> groups_of(const std::vector<std::vector<Split>>& by_rank, std::size_t call) {
  std::map<int, std::vector<std::tuple<int, int>>> members;  // by color: key and rank
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    const Split& split = by_rank[rank][call];
    if (split.color != kNoColor) members[split.color].emplace_back(split.key, static_cast<int>(rank));
  }
  std::vector<Ranks> groups;
  for (auto& [color, ordered] : members) {
    std::ranges::sort(ordered);
    Ranks& ranks = groups.emplace_back();
    for (const auto& [key, rank] : ordered) ranks.push_back(rank);
  }
  std::ranges::sort(groups, {}, [](const Ranks& ranks) { return *std::ranges::min_element(ranks); });
  return groups;
}

std::string text_of(const std::vector<Ranks>& groups) {
  std::string text;
  for (const Ranks& ranks : groups) {
    std::string list;
    for (const int rank : ranks) list += concat(list.empty() ? "" : ",", rank);
    text += concat(text.empty() ? "{" : " {", list, "}");
  }
  return groups.empty() ? "no groups" : text;
}

std::vector<std::vector<Split>> calls_of(Check& check, const GridShape& shape, const Outcome& outcome) {
  const auto calls = check.numbers<std::int64_t>(outcome, 0, "calls");
  const auto colors = check.numbers<std::int64_t>(outcome, 0, "colors");
  const auto keys = check.numbers<std::int64_t>(outcome, 0, "keys");
  std::vector<std::vector<Split>> by_rank;
  std::size_t next = 0;
  for (const std::int64_t count : calls) {
    std::vector<Split>& own = by_rank.emplace_back();
    for (std::int64_t i = 0; i < count && next < std::min(colors.size(), keys.size()); ++i, ++next)
      own.push_back({static_cast<int>(colors[next]), static_cast<int>(keys[next])});
  }
  check.expect(std::ssize(by_rank) == shape.pipeline * shape.data * shape.tensor,
               "the program's answer makes no sense");
  return by_rank;
}

void check_counts(Check& check, const std::string& grid, const std::vector<std::vector<Split>>& by_rank,
                  std::size_t expected) {
  for (std::size_t rank = 1; rank < by_rank.size(); ++rank) {
    const std::size_t own = by_rank[rank].size(), first = by_rank[0].size();
    if (own != first)
      check.wrong(concat(grid, ": rank 0 makes ", first, " calls and rank ", rank, " makes ", own,
                         ": one of them waits forever for the other"),
                  "a rank that joins no group of a call makes the call all the same, with kNoColor");
  }
  if (by_rank[0].size() != expected)
    check.wrong(concat(grid, ": every rank makes ", expected, " calls; got ", by_rank[0].size()),
                "three for groups, two for each border, and one for the table if there are two stages or more");
}

void check_shape(Check& check, const GridShape& shape, const Outcome& outcome) {
  const std::string grid = concat("P = ", shape.pipeline, ", D = ", shape.data, ", T = ", shape.tensor);
  const std::vector<std::vector<Split>> by_rank = calls_of(check, shape, outcome);
  const std::vector<Call> expected = expected_calls(shape);
  check_counts(check, grid, by_rank, expected.size());
  for (std::size_t call = 0; call < expected.size(); ++call) {
    for (std::size_t rank = 0; rank < by_rank.size(); ++rank)
      check.expect(by_rank[rank][call].color >= kNoColor,
                   concat(grid, ": rank ", rank, " passes color ", by_rank[rank][call].color, " in call ", call + 1),
                   "a color is at least 0, or kNoColor");
    const std::vector<Ranks> got = groups_of(by_rank, call);
    if (got != expected[call].groups)
      check.wrong(concat(grid, ": call ", call + 1, ", ", expected[call].what, ", makes ",
                         text_of(expected[call].groups), "; got ", text_of(got)));
  }
}

// Asks for all shapes before it looks at the answers: mistakes that agree in one shape differ in another.
void check_shapes(Check& check, const std::vector<GridShape>& shapes) {
  for (const GridShape& shape : shapes)
    check.run({.question = [&](int) {
      return nlohmann::json{{"pipeline", shape.pipeline}, {"data", shape.data}, {"tensor", shape.tensor}};
    }});
  for (std::size_t i = 0; i < shapes.size(); ++i) check_shape(check, shapes[i], check.outcomes()[i]);
}

}  // namespace checks_12_2

void judge_12_2(Examination& exam) {
  using namespace checks_12_2;
  exam.check("one rank", [](Check& check) { check_shapes(check, {{1, 1, 1}}); });
  exam.check("tensor and data", [](Check& check) { check_shapes(check, {{1, 2, 2}, {1, 3, 2}}); });
  exam.check("two stages and four", [](Check& check) { check_shapes(check, {{2, 1, 1}, {2, 1, 2}, {4, 1, 1}}); });
  exam.check("2 x 2 x 2", [](Check& check) { check_shapes(check, {{2, 2, 2}}); });
  exam.check("three different sides", [](Check& check) { check_shapes(check, {{4, 3, 2}, {2, 3, 4}, {3, 2, 4}}); });
  exam.full_check("random shapes", [](Check& check) {
    PhiloxSequence random(check.seed(), 122);
    const auto side = [&] { return static_cast<int>(1 + random.next_below(5)); };
    std::vector<GridShape> shapes;
    for (int round = 0; round < 8; ++round) shapes.push_back({side(), side(), side()});
    check_shapes(check, shapes);
  });
}

}  // namespace lockstep::exercise
