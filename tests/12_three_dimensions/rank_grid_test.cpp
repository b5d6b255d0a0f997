// Places and lines, against a walk through the grid that counts ranks.
#include "12_three_dimensions/rank_grid.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "all_grids.hpp"
#include "base/error.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using grid::Axis;
using grid::GridShape;
using grid::Place;
using grid::RankGrid;

namespace {

// The place of each rank: the tensor axis changes fastest, the pipeline slowest.
std::vector<Place> walk(const GridShape& shape) {
  std::vector<Place> places;
  for (int pipeline = 0; pipeline < shape.pipeline; ++pipeline)
    for (int data = 0; data < shape.data; ++data)
      for (int tensor = 0; tensor < shape.tensor; ++tensor) places.push_back({pipeline, data, tensor});
  return places;
}

// True if the places differ on this axis at most.
bool are_in_line(const Place& a, const Place& b, Axis axis) {
  return (a.pipeline == b.pipeline || axis == Axis::kPipeline) && (a.data == b.data || axis == Axis::kData) &&
         (a.tensor == b.tensor || axis == Axis::kTensor);
}

}  // namespace

TEST_CASE("there are 20 grids of 1, 2, 4 and 8 ranks", "[grid]") {
  std::set<std::string> shapes;
  for (const GridShape& shape : test::all_grids()) shapes.insert(test::text_of(shape));
  CHECK(shapes.size() == 20);
}

TEST_CASE("every rank has a place, and every place a rank", "[grid]") {
  std::vector<GridShape> shapes = test::all_grids();
  shapes.push_back({.pipeline = 3, .data = 5, .tensor = 2});
  for (const GridShape& shape : shapes) {
    INFO(test::text_of(shape));
    const std::vector<Place> places = walk(shape);
    REQUIRE(std::ssize(places) == shape.ranks());
    for (int rank = 0; rank < shape.ranks(); ++rank) {
      const RankGrid grid(shape, rank, shape.ranks());
      CHECK(grid.place() == places[static_cast<std::size_t>(rank)]);
      CHECK(grid.rank_at(places[static_cast<std::size_t>(rank)]) == rank);
    }
  }
}

TEST_CASE("every rank is in exactly one line of each axis, beside the ranks that differ there only", "[grid]") {
  for (const GridShape& shape : test::all_grids()) {
    const std::vector<Place> places = walk(shape);
    for (const Axis axis : grid::kAxes) {
      INFO(test::text_of(shape) << ", " << grid::name_of(axis));
      std::vector<int> times(places.size());
      for (const std::vector<int>& line : RankGrid(shape, 0, shape.ranks()).lines(axis)) {
        CHECK(std::ssize(line) == shape.along(axis));
        for (const int rank : line) ++times[static_cast<std::size_t>(rank)];
      }
      CHECK(std::ranges::count(times, 1) == std::ssize(times));
      for (int rank = 0; rank < shape.ranks(); ++rank) {
        std::vector<int> expected;
        for (int other = 0; other < shape.ranks(); ++other)
          if (are_in_line(places[static_cast<std::size_t>(rank)], places[static_cast<std::size_t>(other)], axis))
            expected.push_back(other);
        const std::vector<int> line = RankGrid(shape, rank, shape.ranks()).line(axis);
        CHECK(line == expected);
        // Neighbours in a line are as far apart as all ranks of the axes that change faster.
        const int stride = axis == Axis::kTensor ? 1 : axis == Axis::kData ? shape.tensor : shape.data * shape.tensor;
        for (std::size_t i = 1; i < line.size(); ++i) CHECK(line[i] - line[i - 1] == stride);
      }
    }
  }
}

TEST_CASE("groups are named by axis and ranks", "[grid]") {
  const RankGrid grid({.pipeline = 2, .data = 2, .tensor = 2}, 5, 8);
  CHECK(grid::group_name(Axis::kTensor, grid.line(Axis::kTensor)) == "tensor{4,5}");
  CHECK(grid::group_name(Axis::kData, grid.line(Axis::kData)) == "data{5,7}");
  CHECK(grid::group_name(Axis::kPipeline, grid.line(Axis::kPipeline)) == "pipeline{1,5}");
  CHECK(grid::group_name(Axis::kData, std::vector<int>{0, 2, 4, 6}) == "data{0,2,4,6}");
  CHECK(grid::group_name(Axis::kData, std::vector<int>{0, 8, 16, 24, 32}) == "data{0,8,...,32}");
  CHECK(grid::group_name(Axis::kTensor, std::vector<int>{3}) == "tensor{3}");
  CHECK(grid.place().text() == "pipeline 1, data 0, tensor 1");
}

TEST_CASE("the ranks that do not divide a model share the samples", "[grid]") {
  CHECK(grid::shape_of(8, 2, 2) == GridShape{.pipeline = 2, .data = 2, .tensor = 2});
  CHECK(grid::shape_of(12, 1, 3) == GridShape{.pipeline = 3, .data = 4, .tensor = 1});
  CHECK(grid::shape_of(1, 1, 1) == GridShape{});
  CHECK_THROWS_WITH(grid::shape_of(6, 2, 2), "6 ranks are no multiple of --tensor 2 x --pipeline 2; use 4 or 8");
  CHECK_THROWS_WITH(grid::shape_of(1, 2, 1), "1 rank is no multiple of --tensor 2 x --pipeline 1; use 2");
  CHECK_THROWS_AS(grid::shape_of(6, 2, 2), UsageError);
  CHECK_THROWS_AS(grid::shape_of(4, 0, 2), UsageError);
}

TEST_CASE("grids that no job has are refused", "[grid]") {
  CHECK_THROWS_AS(RankGrid({.pipeline = 2, .data = 2, .tensor = 2}, 0, 4), ContractError);
  CHECK_THROWS_AS(RankGrid({.pipeline = 2, .data = 2, .tensor = 2}, 8, 8), ContractError);
  CHECK_THROWS_AS(RankGrid({.pipeline = -2, .data = -2, .tensor = 2}, 0, 8), ContractError);
  const RankGrid grid({.pipeline = 1, .data = 2, .tensor = 2}, 0, 4);
  CHECK_THROWS_WITH(grid.rank_at({.pipeline = 1}), "a grid of 1 x 2 x 2 has no place pipeline 1, data 0, tensor 0");
  CHECK_THROWS_AS(grid.rank_at({.tensor = -1}), ContractError);
}

TEST_CASE("tensor ranks are on one host", "[grid]") {
  const std::vector<std::string> two_hosts{"a", "a", "a", "a", "b", "b", "b", "b"};
  const auto check = [&](const GridShape& shape) {
    grid::require_tensor_on_one_host(RankGrid(shape, 0, 8), two_hosts);
  };
  CHECK_NOTHROW(check({.pipeline = 2, .data = 1, .tensor = 4}));
  CHECK_NOTHROW(check({.pipeline = 8, .data = 1, .tensor = 1}));
  CHECK_THROWS_WITH(check({.pipeline = 1, .data = 1, .tensor = 8}),
                    Catch::Matchers::StartsWith("tensor ranks 3, 4 are on different hosts: "));
  // Hosts that take turns.
  const std::vector<std::string> in_turns{"a", "b", "a", "b", "a", "b", "a", "b"};
  CHECK_THROWS_AS(grid::require_tensor_on_one_host(RankGrid({2, 2, 2}, 0, 8), in_turns), UsageError);
}
