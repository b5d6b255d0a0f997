#pragma once
/// @file
/// Common to the problems of all ladders: the rungs, and the comparison with the CPU's result.
#include <cmath>

#include "04_kernels/measure/device_array.hpp"
#include "04_kernels/measure/problem.hpp"
#include "base/philox.hpp"

namespace lockstep::ladders {

/// Half the distance between 1 and the next float32: the largest relative error of one rounding.
inline constexpr double kUnit = 0x1.0p-24;

/// One expected value and the error that rounding may leave in it.
struct Expected {
  double value = 0;
  double allowed = 0;
};

/// The verdict on the worst element.
[[nodiscard]] Verdict compare(std::span<const float> got, std::span<const Expected> expected);

/// Whether rows of `columns` values meet the requirement.
[[nodiscard]] bool meets(Requirement requirement, int columns);

/// `count` whole numbers in [-most, most], the same for the same key. Their sums and products are exact in float32 as
/// long as no partial result reaches 2^24, whatever the order: results are then compared for equality.
[[nodiscard]] std::vector<float> whole_numbers(std::size_t count, int most, std::uint64_t key);

/// `count` numbers, uniform in [-most, most), the same for the same key.
[[nodiscard]] std::vector<float> real_numbers(std::size_t count, float most, std::uint64_t key);

/// A problem whose rungs are functions of one type.
template <typename Function>
class LadderProblem : public Problem {
 public:
  explicit LadderProblem(Ladder<Function> ladder) : ladder_(ladder) {}

  [[nodiscard]] bool is_allowed(int rung) const override { return is_met(ladder_.first[rung].requirement); }

 protected:
  [[nodiscard]] Function function(int rung) const { return ladder_.first[rung].function; }

  /// Whether this problem's sizes meet a requirement.
  [[nodiscard]] virtual bool is_met(Requirement requirement) const = 0;

 private:
  Ladder<Function> ladder_;
};

}  // namespace lockstep::ladders
