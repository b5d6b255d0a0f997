#include <algorithm>
#include <numeric>

#include "../../explanation.hpp"
#include "12_three_dimensions/1_rank_and_place/rank_and_place.hpp"
#include "base/error.hpp"
#include "base/philox.hpp"
#include "exercise/examination.hpp"

namespace lockstep::exercise {
namespace checks_12_1 {

using places::GridShape;
using Numbers = std::vector<std::int64_t>;

constexpr const char* kNames[] = {"pipeline", "data", "tensor"};

// Which axis changes fastest, second and slowest; an index into kAxes.
struct Order {
  int fastest, second, slowest;
  const char* what = "";  // completes "that is what comes out if "
};
constexpr Order kRight{2, 1, 0};
const Order kWrongOrders[] = {
    {0, 1, 2, "the pipeline axis changes fastest and the tensor axis slowest"},
    {1, 2, 0, "the data axis changes fastest, then the tensor axis"},
    {2, 0, 1, "the pipeline axis changes before the data axis"},
    {0, 2, 1, "the pipeline axis changes fastest, then the tensor axis"},
    {1, 0, 2, "the data axis changes fastest and the tensor axis slowest"},
};

int side_of(const GridShape& shape, int axis) {
  return axis == 0 ? shape.pipeline : axis == 1 ? shape.data : shape.tensor;
}

// The place of each rank, by counting up: an axis that is used up begins again and moves the next one on.
std::vector<std::vector<int>> walk(const GridShape& shape, const Order& order) {
  std::vector<std::vector<int>> all;
  std::vector<int> place(3);
  for (int& slow = place[static_cast<std::size_t>(order.slowest)]; slow < side_of(shape, order.slowest); ++slow)
    for (int& middle = place[static_cast<std::size_t>(order.second)] = 0; middle < side_of(shape, order.second);
         ++middle)
      for (int& fast = place[static_cast<std::size_t>(order.fastest)] = 0; fast < side_of(shape, order.fastest); ++fast)
        all.push_back(place);
  return all;
}

Numbers flat(const std::vector<std::vector<int>>& places) {
  Numbers numbers;
  for (const std::vector<int>& place : places) numbers.insert(numbers.end(), place.begin(), place.end());
  return numbers;
}

std::string text_of(const GridShape& shape) {
  return concat("P = ", shape.pipeline, ", D = ", shape.data, ", T = ", shape.tensor);
}

std::string place_text(std::span<const std::int64_t> place) {
  return concat("pipeline ", place[0], ", data ", place[1], ", tensor ", place[2]);
}

std::string list_of(std::span<const std::int64_t> ranks) {
  std::string text;
  for (const std::int64_t rank : ranks) text += concat(text.empty() ? "" : ", ", rank);
  return ranks.empty() ? "no ranks" : text;
}

std::string explained(const GridShape& shape, const Numbers& got) {
  std::vector<std::string> causes;
  const Numbers right = flat(walk(shape, kRight));
  for (const Order& order : kWrongOrders) {
    const Numbers wrong = flat(walk(shape, order));
    if (wrong == got && wrong != right) causes.emplace_back(order.what);
  }
  return explanation_of(causes);
}

void check_places(Check& check, const GridShape& shape, const Numbers& got) {
  const Numbers expected = flat(walk(shape, kRight));
  check.expect(got.size() == expected.size(), "the program's answer makes no sense");
  for (std::size_t i = 0; i < got.size(); i += 3) {
    const std::span own = std::span(expected).subspan(i, 3), found = std::span(got).subspan(i, 3);
    if (!std::ranges::equal(own, found))
      check.wrong(concat(text_of(shape), ": rank ", i / 3, " has place ", place_text(own), "; got ", place_text(found),
                         explained(shape, got)),
                  "count up the ranks: the tensor place changes with every rank, the data place after T of them");
  }
}

void check_ranks(Check& check, const GridShape& shape, const Numbers& got) {
  const std::vector<std::vector<int>> places = walk(shape, kRight);
  check.expect(got.size() == places.size(), "the program's answer makes no sense");
  for (std::size_t rank = 0; rank < got.size(); ++rank) {
    const Numbers place(places[rank].begin(), places[rank].end());
    if (got[rank] != static_cast<std::int64_t>(rank))
      check.wrong(concat(text_of(shape), ": rank_at() of ", place_text(place), " is ", rank, "; got ", got[rank]),
                  "rank_at(shape, place_of(shape, rank)) is the rank itself");
  }
}

void check_lines(Check& check, const GridShape& shape, const Numbers& lengths, const Numbers& members) {
  const std::vector<std::vector<int>> places = walk(shape, kRight);
  check.expect(lengths.size() == 3 * places.size() &&
                   std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}) == std::ssize(members),
               "the program's answer makes no sense");
  std::size_t from = 0;
  for (std::size_t i = 0; i < lengths.size(); from += static_cast<std::size_t>(lengths[i++])) {
    const std::size_t rank = i / 3, axis = i % 3;
    Numbers expected;
    for (std::size_t other = 0; other < places.size(); ++other) {
      std::vector<int> moved = places[other];
      moved[axis] = places[rank][axis];
      if (moved == places[rank]) expected.push_back(static_cast<std::int64_t>(other));
    }
    const std::span got = std::span(members).subspan(from, static_cast<std::size_t>(lengths[i]));
    if (std::ranges::equal(got, expected)) continue;
    check.wrong(concat(text_of(shape), ": the ", kNames[axis], " line of rank ", rank, " has ranks ", list_of(expected),
                       "; got ", list_of(got)),
                concat("rank ", rank, " has place ", place_text(Numbers(places[rank].begin(), places[rank].end())),
                       ": its line has all ranks that differ on the ", kNames[axis], " axis only"));
  }
}

void check_shape(Check& check, const GridShape& shape, const Outcome& outcome) {
  check_places(check, shape, check.numbers<std::int64_t>(outcome, 0, "places"));
  check_ranks(check, shape, check.numbers<std::int64_t>(outcome, 0, "ranks"));
  check_lines(check, shape, check.numbers<std::int64_t>(outcome, 0, "lengths"),
              check.numbers<std::int64_t>(outcome, 0, "members"));
}

// Asks for all shapes before it looks at the answers: mistakes that agree in one shape differ in another.
void check_shapes(Check& check, const std::vector<GridShape>& shapes) {
  for (const GridShape& shape : shapes)
    check.run({.question = [&](int) {
      return nlohmann::json{{"pipeline", shape.pipeline}, {"data", shape.data}, {"tensor", shape.tensor}};
    }});
  for (std::size_t i = 0; i < shapes.size(); ++i) check_shape(check, shapes[i], check.outcomes()[i]);
}

}  // namespace checks_12_1

void judge_12_1(Examination& exam) {
  using namespace checks_12_1;
  exam.check("one axis alone", [](Check& check) { check_shapes(check, {{1, 1, 4}, {1, 4, 1}, {4, 1, 1}, {1, 1, 1}}); });
  exam.check("two axes", [](Check& check) { check_shapes(check, {{1, 2, 4}, {4, 1, 2}, {2, 3, 1}}); });
  exam.check("2 x 2 x 2", [](Check& check) { check_shapes(check, {{2, 2, 2}}); });
  exam.check("three different sides", [](Check& check) { check_shapes(check, {{2, 3, 4}, {4, 3, 2}, {3, 5, 2}}); });
  exam.full_check("random shapes", [](Check& check) {
    PhiloxSequence random(check.seed(), 121);
    const auto side = [&] { return static_cast<int>(1 + random.next_below(6)); };
    std::vector<GridShape> shapes;
    for (int round = 0; round < 8; ++round) shapes.push_back({side(), side(), side()});
    check_shapes(check, shapes);
  });
}

}  // namespace lockstep::exercise
