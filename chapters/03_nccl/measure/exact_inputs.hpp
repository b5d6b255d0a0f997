#pragma once
/// @file
/// Inputs of collectives whose results are known to the last bit, whatever the order of additions.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/fingerprint.hpp"

namespace lockstep::bandwidth {

/// Which collective is measured, on what.
struct Exercise {
  comm::Collective collective = comm::Collective::kAllReduce;  ///< all_reduce, ..., all_to_all.
  DType dtype = DType::kFloat32;                               ///< Of every element.
  comm::ReduceOp op = comm::ReduceOp::kSum;                    ///< For reductions.
};

/// An element that is not what it must be.
struct WrongElement {
  std::int64_t index = 0;  ///< In the buffer that was checked.
  double is = 0;           ///< What stands there.
  double expected = 0;     ///< What must.
};

/// What ranks contribute, and what must come out. Contributions are small integers, drawn by (rank, index): every
/// partial sum is an integer that the type holds exactly, so no order of additions rounds, and one element too few, too
/// many or in the wrong place shows. They repeat after kPeriod elements, a prime: no chunk or segment fits into it.
class ExactInputs {
 public:
  static constexpr std::int64_t kPeriod = 4093;  ///< Elements.

  /// @param exercise    What is computed. @param world_size  Ranks that take part.
  ExactInputs(const Exercise& exercise, int world_size);

  /// Fills `values` with what `rank` contributes, from its element `first` on.
  void fill(std::span<std::byte> values, int rank, std::int64_t first = 0) const;

  /// Compares `values` with the contribution of `rank`, from its element `first` on.
  /// @return  The first difference, or nothing.
  [[nodiscard]] std::optional<WrongElement> difference_to_rank(std::span<const std::byte> values, int rank,
                                                               std::int64_t first = 0) const;

  /// Compares `values` with the reduction over all ranks, from its element `first` on. For kMean one rounding of 1 / P
  /// and one of the product are allowed, for everything else nothing.
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
