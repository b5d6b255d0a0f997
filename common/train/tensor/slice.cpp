#include "tensor/slice.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/error.hpp"

namespace lockstep {
namespace {

std::int64_t row_count(const Shape& whole) { return whole.rank() < 2 ? 1 : whole[0]; }

std::int64_t column_count(const Shape& whole) {
  std::int64_t columns = 1;
  for (int axis = whole.rank() < 2 ? 0 : 1; axis < whole.rank(); ++axis) columns *= whole[axis];
  return columns;
}

std::int64_t width_of(const std::vector<Range>& columns) {
  std::int64_t width = 0;
  for (const Range& range : columns) width += range.count();
  return width;
}

void require_within(std::string_view what, const Range& range, std::int64_t count, const Shape& whole) {
  require(range.begin >= 0 && range.begin <= range.end && range.end <= count, "a slice of ", whole, ": ", what, " [",
          range.begin, ", ", range.end, ") of ", count);
}

Slice block_of(const Shape& whole, Range rows, std::vector<Range> columns) {
  const Range elements{0, rows.count() * width_of(columns)};
  Slice slice{whole, rows, std::move(columns), elements};
  require_valid(slice);
  return slice;
}

}  // namespace

void require_valid(const Slice& slice) {
  require_within("rows", slice.rows, row_count(slice.whole), slice.whole);
  for (const Range& range : slice.columns) require_within("columns", range, column_count(slice.whole), slice.whole);
  std::vector<Range> sorted = slice.columns;
  std::ranges::sort(sorted, {}, &Range::begin);
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    require(sorted[i - 1].end <= sorted[i].begin, "a slice of ", slice.whole, ": columns [", sorted[i - 1].begin, ", ",
            sorted[i - 1].end, ") and [", sorted[i].begin, ", ", sorted[i].end, ") overlap");
  }
  require_within("elements", slice.elements, slice.rows.count() * width_of(slice.columns), slice.whole);
}

Slice Slice::of(const Shape& whole) { return of_rows(whole, {0, row_count(whole)}); }

Slice Slice::of_rows(const Shape& whole, Range rows) { return block_of(whole, rows, {{0, column_count(whole)}}); }

Slice Slice::of_columns(const Shape& whole, std::vector<Range> columns) {
  return block_of(whole, {0, row_count(whole)}, std::move(columns));
}

Slice Slice::part(Range range) const {
  require_within("elements", range, count(), whole);
  Slice slice = *this;
  slice.elements = {elements.begin + range.begin, elements.begin + range.end};
  return slice;
}

bool Slice::is_block() const noexcept { return elements == Range{0, rows.count() * width_of(columns)}; }

Shape Slice::shape() const {
  if (!is_block()) return {count()};
  if (columns == std::vector<Range>{{0, column_count(whole)}}) {  // whole rows keep their dimensions
    std::array<std::int64_t, Shape::kMaxRank> dimensions{};
    std::ranges::copy(whole.dimensions(), dimensions.begin());
    if (whole.rank() >= 2) dimensions[0] = rows.count();
    return Shape(std::span<const std::int64_t>(dimensions.data(), static_cast<std::size_t>(whole.rank())));
  }
  const std::int64_t width = width_of(columns);
  return whole.rank() < 2 ? Shape{width} : Shape{rows.count(), width};
}

void Slice::for_each_run(const std::function<void(Range)>& visit) const {
  const std::int64_t row_length = column_count(whole), width = width_of(columns);
  Range run;  // grows while the next elements are adjacent in the whole tensor
  const auto append = [&](Range next) {
    if (next.begin == run.end && run.count() > 0) return void(run.end = next.end);
    if (run.count() > 0) visit(run);
    run = next;
  };
  const std::int64_t last_row = width == 0 ? 0 : (elements.end + width - 1) / width;
  for (std::int64_t row = width == 0 ? 0 : elements.begin / width; row < last_row; ++row) {
    std::int64_t held = row * width;  // index in the block of the next range's first element
    for (const Range& range : columns) {
      const std::int64_t first = std::max(elements.begin - held, std::int64_t{0});
      const std::int64_t last = std::min(elements.end - held, range.count());
      const std::int64_t begin = (rows.begin + row) * row_length + range.begin;
      if (first < last) append({begin + first, begin + last});
      held += range.count();
    }
  }
  if (run.count() > 0) visit(run);
}

}  // namespace lockstep
