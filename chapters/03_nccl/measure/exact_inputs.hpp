#pragma once
/// @file
/// Inputs for collectives whose results are known to the last bit, in any order of additions.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/fingerprint.hpp"

namespace lockstep::bandwidth {

/// The collective to measure, and its elements.
struct Exercise {
  comm::Collective collective = comm::Collective::kAllReduce;  ///< all_reduce, ..., all_to_all.
  DType dtype = DType::kFloat32;
  comm::ReduceOp op = comm::ReduceOp::kSum;  ///< For reductions.
};

/// An element with a wrong value.
struct WrongElement {
  std::int64_t index = 0;  ///< In the buffer that was checked.
  double is = 0;           ///< The value found.
  double expected = 0;
};

/// The ranks' contributions and the correct results. Contributions are small integers, drawn by (rank, index): every
/// partial sum is an integer that the type holds exactly, so no order of additions rounds, and an element that is
/// missing, counted twice or misplaced shows. They repeat after kPeriod elements, a prime, so that they never line up
/// with chunks or segments.
class ExactInputs {
 public:
  static constexpr std::int64_t kPeriod = 4093;  ///< Elements.

  /// @param exercise  The collective. @param world_size  Ranks that take part.
  ExactInputs(const Exercise& exercise, int world_size);

  /// Fills `values` with `rank`'s contribution, from its element `first` on.
  void fill(std::span<std::byte> values, int rank, std::int64_t first = 0) const;

  /// Compares `values` with the contribution of `rank`, from its element `first` on.
  /// @return  The first difference, or nothing.
  [[nodiscard]] std::optional<WrongElement> difference_to_rank(std::span<const std::byte> values, int rank,
                                                               std::int64_t first = 0) const;

  /// Compares `values` with the reduction over all ranks, from its element `first` on. kMean may round 1 / P and the
  /// product; all else must be exact.
  /// @return  The first difference, or nothing.
  [[nodiscard]] std::optional<WrongElement> difference_to_reduction(std::span<const std::byte> values,
                                                                    std::int64_t first = 0) const;

 private:
  using Table = std::vector<std::byte>;  // kPeriod elements
  [[nodiscard]] std::int64_t value(int rank, std::int64_t index) const;
  [[nodiscard]] std::optional<WrongElement> difference(std::span<const std::byte> values, const Table& table,
                                                       std::int64_t first, double tolerance) const;

  Exercise exercise_;
  int world_size_;
  std::vector<Table> of_rank_;
  Table reduction_;
};

}  // namespace lockstep::bandwidth
