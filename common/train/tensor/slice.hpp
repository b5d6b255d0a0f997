#pragma once
/// @file
/// Which elements of a whole tensor a rank holds, where ranks share one: what sharding and tensor parallelism, initial
/// values and checkpoints have to agree on.
#include <cstdint>
#include <functional>
#include <vector>

#include "tensor/shape.hpp"

namespace lockstep {

/// Indices [begin, end).
struct Range {
  std::int64_t begin = 0;  ///< First.
  std::int64_t end = 0;    ///< Behind the last; at least `begin`.

  /// How many.
  [[nodiscard]] constexpr std::int64_t count() const noexcept { return end - begin; }
  bool operator==(const Range&) const = default;
};

/// A part of a whole tensor. The whole is read as a matrix: its first dimension counts rows, what follows is one row; a
/// vector, like a scalar, is one row. The part is a run of the elements of a block of that matrix: some rows, and of
/// each row some columns, which lie side by side where the part is held. In a packed projection [C, 3C] the columns of
/// some heads are three ranges: of the queries, of the keys, of the values.
struct Slice {
  Shape whole;                 ///< Of the whole tensor.
  Range rows;                  ///< Of the block.
  std::vector<Range> columns;  ///< Of the block, in the order in which they are held; none overlaps another.
  Range elements;              ///< Of the block, row by row: what is left of it after sharding.

  /// All elements. @param whole  Of the tensor.
  [[nodiscard]] static Slice of(const Shape& whole);
  /// Whole rows. @param whole  Of the tensor. @param rows  Of it. @throws ContractError  As require_valid().
  [[nodiscard]] static Slice of_rows(const Shape& whole, Range rows);
  /// Of every row the same columns. @param whole  Of the tensor. @param columns  Of it.
  /// @throws ContractError  As require_valid().
  [[nodiscard]] static Slice of_columns(const Shape& whole, std::vector<Range> columns);
  /// A run of this slice's elements. @param range  In [0, count()). @throws ContractError  It is not.
  [[nodiscard]] Slice part(Range range) const;

  /// Number of elements held.
  [[nodiscard]] std::int64_t count() const noexcept { return elements.count(); }
  /// Whether the block is held, not only a run of its elements.
  [[nodiscard]] bool is_block() const noexcept;
  /// Of the tensor that holds the elements: of a block the whole's with fewer rows and columns, else [count()]. A block
  /// of some columns has at most two dimensions.
  [[nodiscard]] Shape shape() const;

  /// Calls `visit` for each run of elements that lie side by side in the whole tensor, in the order in which they are
  /// held: [begin, end) are numbers of the whole's elements, row by row.
  void for_each_run(const std::function<void(Range)>& visit) const;

  bool operator==(const Slice&) const = default;
};

/// @throws ContractError  Rows, columns or elements that are not there, or columns that overlap; says which.
void require_valid(const Slice& slice);

}  // namespace lockstep
