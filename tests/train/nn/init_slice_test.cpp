// Initial values of a part of a parameter.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.hpp"
#include "device/storage.hpp"
#include "nn/init.hpp"
#include "support/accelerator.hpp"
#include "support/catch.hpp"

using namespace lockstep;

namespace {

// The slice's elements taken from the whole tensor; rows and columns as the definition of Slice counts them.
template <typename T>
std::vector<T> cut(const Tensor& whole, const Slice& slice) {
  const auto all = whole.span<T>();
  const std::int64_t row_length = whole.shape().rank() < 2 ? whole.count() : whole.count() / whole.shape()[0];
  std::vector<T> block;
  for (std::int64_t row = slice.rows.begin; row < slice.rows.end; ++row) {
    for (const Range& range : slice.columns) {
      for (std::int64_t column = range.begin; column < range.end; ++column) {
        block.push_back(all[static_cast<std::size_t>(row * row_length + column)]);
      }
    }
  }
  return {block.begin() + slice.elements.begin, block.begin() + slice.elements.end};
}

template <typename T>
void check_slice(const nn::InitScope& scope, const Slice& slice) {
  const Tensor normal = scope.normal("weight", slice, 0.02), uniform = scope.uniform("weight", slice, 0.1);
  CHECK(normal.shape() == slice.shape());
  CHECK(std::ranges::equal(normal.span<T>(), cut<T>(scope.normal("weight", slice.whole, 0.02), slice)));
  CHECK(std::ranges::equal(uniform.span<T>(), cut<T>(scope.uniform("weight", slice.whole, 0.1), slice)));
}

// Heads [begin, end) of 6 heads of 5 channels in a packed projection: queries, keys and values side by side.
std::vector<Range> head_columns(std::int64_t begin, std::int64_t end) {
  std::vector<Range> columns;
  for (std::int64_t part = 0; part < 3; ++part) columns.push_back({part * 30 + begin * 5, part * 30 + end * 5});
  return columns;
}

}  // namespace

TEST_CASE("initial values of a slice are the slice of the whole tensor's, bit for bit", "[nn][slice]") {
  const Shape packed{30, 90};
  std::vector<Slice> slices{Slice::of(packed),
                            Slice::of_rows(packed, {7, 19}),
                            Slice::of_columns(packed, {{13, 14}}),
                            Slice::of_columns(packed, head_columns(0, 2)),
                            Slice::of_columns(packed, head_columns(2, 5)),
                            Slice::of_columns(packed, head_columns(2, 5)).part({101, 777}),
                            Slice::of(packed).part({1, 2}),
                            Slice::of(packed).part({2699, 2700}),
                            Slice::of(packed).part({5, 5}),
                            Slice::of_columns({90}, head_columns(4, 6)),
                            Slice::of({91}).part({2, 91}),
                            Slice::of_rows({6, 3, 5}, {2, 3})};
  const nn::InitScope scope = nn::InitScope(42).child("h.3"), wide(42, DType::kFloat64);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    CAPTURE(i);
    check_slice<float>(scope, slices[i]);
    check_slice<double>(wide, slices[i]);
  }
}

TEST_CASE("the parts of all ranks are the whole", "[nn][slice]") {
  const Shape shape{10, 7};
  const nn::InitScope scope(3);
  const Tensor whole = scope.normal("wte", shape, 0.02);
  std::vector<float> joined;
  for (const Range& range : {Range{0, 24}, Range{24, 48}, Range{48, 70}}) {
    const auto part = scope.normal("wte", Slice::of(shape).part(range), 0.02);
    joined.insert(joined.end(), part.span<float>().begin(), part.span<float>().end());
  }
  CHECK(std::ranges::equal(joined, whole.span<float>()));
}

TEST_CASE("a slice of a tensor that no machine could hold has initial values", "[nn][slice]") {
  const Shape shape{std::int64_t{1} << 30, 1 << 16};  // 256 TiB
  reset_peak();
  const std::size_t before = allocator_statistics().bytes_in_use;
  const std::int64_t last = shape.count() - 1000;
  const Tensor end = nn::InitScope(1).normal("weight", Slice::of(shape).part({last, last + 1000}), 1.0);
  CHECK(allocator_statistics().peak_bytes_in_use - before < 1 << 16);
  const auto values = end.span<float>();
  CHECK(std::ranges::count_if(values, [](float value) { return value != 0 && std::abs(value) < 6; }) == 1000);
}

TEST_CASE("initial values of a slice are made where the scope says", "[nn][slice][gpu]") {
  const Slice slice = Slice::of_rows({6, 5}, {1, 4});
  const Tensor there = nn::InitScope(9, test::accelerator()).normal("weight", slice, 0.02);
  CHECK(there.device() == test::accelerator());
  CHECK(std::ranges::equal(there.to(Device{}).span<float>(),
                           nn::InitScope(9).normal("weight", slice, 0.02).span<float>()));
  CHECK(nn::InitScope::skip_init().normal("weight", slice, 0.02).shape() == Shape{3, 5});
  CHECK_THROWS_AS(nn::InitScope(1).normal("weight", Slice{{6, 5}, {1, 7}, {{0, 5}}, {0, 1}}, 0.02), ContractError);
}
