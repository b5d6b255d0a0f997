#pragma once
/// @file
/// Which elements of a shared tensor a rank holds: the common ground of sharding, tensor parallelism, initial values
/// and checkpoints.
#include <cstdint>
#include <functional>
#include <vector>

#include "tensor/shape.hpp"

namespace lockstep {

/// Indices [begin, end).
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;  ///< Past the end; at least `begin`.

  [[nodiscard]] constexpr std::int64_t count() const noexcept { return end - begin; }
  bool operator==(const Range&) const = default;
};

/// A part of a whole tensor. The whole is read as a matrix: its first dimension counts rows, the others form one row; a
/// vector or scalar is one row. The part is a run of the elements of a block of that matrix. A block has some rows, and
/// some columns of each row, stored side by side. In a packed projection [C, 3C] the columns of some heads are three
/// ranges: of the queries, of the keys, of the values.
struct Slice {
  Shape whole;
  Range rows;                  ///< Of the block.
  std::vector<Range> columns;  ///< Of the block, in storage order; none overlaps another.
  Range elements;              ///< Of the block, row by row: the range left after sharding.

  [[nodiscard]] static Slice of(const Shape& whole);
  /// Whole rows. @throws ContractError  As require_valid().
  [[nodiscard]] static Slice of_rows(const Shape& whole, Range rows);
  /// The same columns of every row. @throws ContractError  As require_valid().
  [[nodiscard]] static Slice of_columns(const Shape& whole, std::vector<Range> columns);
  /// A run of this slice's elements. @param range  In [0, count()). @throws ContractError  It is not.
  [[nodiscard]] Slice part(Range range) const;

  [[nodiscard]] std::int64_t count() const noexcept { return elements.count(); }
  /// Whether it holds the whole block, not only a run of its elements.
  [[nodiscard]] bool is_block() const noexcept;
  /// Shape of the tensor that holds the elements: for a block the whole's with fewer rows and columns, else [count()].
  /// A block of some columns has at most two dimensions.
  [[nodiscard]] Shape shape() const;

  /// Calls `visit` for each run of elements that are adjacent in the whole tensor, in storage order: [begin, end) are
  /// indices into the whole's elements, row by row.
  void for_each_run(const std::function<void(Range)>& visit) const;

  bool operator==(const Slice&) const = default;
};

/// @throws ContractError  Rows, columns or elements out of range, or columns that overlap; says which.
void require_valid(const Slice& slice);

}  // namespace lockstep
