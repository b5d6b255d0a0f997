#include "tensor/slice.hpp"

#include <vector>

#include "base/error.hpp"
#include "support/catch.hpp"

using namespace lockstep;
using Catch::Matchers::ContainsSubstring;

namespace {

using Numbers = std::vector<std::int64_t>;

// The numbers of the elements that a slice's runs name, in their order.
Numbers elements_of(const Slice& slice) {
  Numbers numbers;
  slice.for_each_run([&](Range run) {
    REQUIRE(run.count() > 0);
    for (std::int64_t i = run.begin; i < run.end; ++i) numbers.push_back(i);
  });
  return numbers;
}

std::int64_t run_count(const Slice& slice) {
  std::int64_t runs = 0;
  slice.for_each_run([&](Range /*run*/) { ++runs; });
  return runs;
}

// The definition, element by element.
Numbers by_definition(const Slice& slice, std::int64_t row_length) {
  Numbers block;
  for (std::int64_t row = slice.rows.begin; row < slice.rows.end; ++row) {
    for (const Range& range : slice.columns) {
      for (std::int64_t column = range.begin; column < range.end; ++column) block.push_back(row * row_length + column);
    }
  }
  return {block.begin() + slice.elements.begin, block.begin() + slice.elements.end};
}

}  // namespace

TEST_CASE("a slice of all elements is one run", "[tensor]") {
  for (const Shape& shape : {Shape{}, Shape{7}, Shape{3, 5}, Shape{2, 3, 4}}) {
    const Slice slice = Slice::of(shape);
    CHECK(slice.shape() == shape);
    CHECK(slice.count() == shape.count());
    CHECK(run_count(slice) == 1);
    CHECK(elements_of(slice).back() == shape.count() - 1);
  }
  CHECK(elements_of(Slice::of({0, 5})).empty());
}

TEST_CASE("rows, columns and runs of a slice's elements are those of the definition", "[tensor]") {
  const Shape whole{5, 12};
  const std::vector<std::vector<Range>> column_lists{
      {{0, 12}}, {{3, 4}}, {{1, 3}, {5, 7}, {9, 11}}, {{8, 12}, {0, 4}}, {{0, 4}, {4, 8}}, {{2, 2}}, {}};
  for (const std::vector<Range>& columns : column_lists) {
    for (const Range& rows : {Range{0, 5}, Range{2, 4}, Range{4, 5}, Range{3, 3}}) {
      Slice block = Slice::of_columns(whole, columns);
      block.rows = rows;
      block.elements = {0, rows.count() * block.count() / 5};
      require_valid(block);
      for (std::int64_t begin = 0; begin <= block.count(); ++begin) {
        for (std::int64_t end = begin; end <= block.count(); ++end) {
          const Slice part = block.part({begin, end});
          REQUIRE(elements_of(part) == by_definition(part, 12));
          REQUIRE(part.shape().count() == end - begin);
        }
      }
    }
  }
}

TEST_CASE("a slice has the shape of the tensor that holds it", "[tensor]") {
  CHECK(Slice::of_rows({5, 12}, {1, 3}).shape() == Shape{2, 12});
  CHECK(Slice::of_rows({5, 2, 6}, {1, 3}).shape() == Shape{2, 2, 6});
  CHECK(Slice::of_columns({5, 12}, {{0, 2}, {4, 6}, {8, 10}}).shape() == Shape{5, 6});
  CHECK(Slice::of_columns({12}, {{3, 9}}).shape() == Shape{6});
  CHECK(Slice::of({5, 12}).part({7, 40}).shape() == Shape{33});
  CHECK(Slice::of({5, 12}).part({7, 40}).part({1, 3}).elements == Range{8, 10});
  CHECK(Slice::of({5, 12}).part({0, 60}).shape() == Shape{5, 12});
  CHECK(run_count(Slice::of_columns({5, 12}, {{0, 6}, {6, 12}})) == 1);  // what touches is one run
  CHECK(run_count(Slice::of_columns({5, 12}, {{0, 2}, {4, 6}})) == 10);
}

TEST_CASE("a slice that is not in its tensor is refused", "[tensor]") {
  CHECK_THROWS_WITH(Slice::of_rows({5, 12}, {2, 6}), ContainsSubstring("rows [2, 6) of 5"));
  CHECK_THROWS_WITH(Slice::of_columns({5, 12}, {{10, 13}}), ContainsSubstring("columns [10, 13) of 12"));
  CHECK_THROWS_WITH(Slice::of_columns({5, 12}, {{4, 8}, {0, 5}}), ContainsSubstring("overlap"));
  CHECK_THROWS_WITH(Slice::of({12}).part({3, 13}), ContainsSubstring("elements [3, 13) of 12"));
  CHECK_THROWS_AS(Slice::of({12}).part({5, 4}), ContractError);
}
