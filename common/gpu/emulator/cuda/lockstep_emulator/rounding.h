#pragma once
/// @file
/// Rounding to numbers of 16 bits and to integers.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace lockstep::emulator {

/// The float32 below or above `value` whose last bit is 1, unless `value` is a float32: what is then rounded to 16 bits
/// is rounded as if in one step.
constexpr float round_to_odd(double value) noexcept {
  const auto near = static_cast<float>(value);
  auto bits = std::bit_cast<std::uint32_t>(near);
  const bool is_exact = near != near || static_cast<double>(near) == value;
  if (!is_exact && (bits & 1U) == 0) {
    const bool is_beyond = value < 0.0 ? static_cast<double>(near) < value : static_cast<double>(near) > value;
    bits = is_beyond ? bits - 1 : bits | 1U;
  }
  return std::bit_cast<float>(bits);
}

/// The sum, or, if no float64 is equal to it, the neighbour whose last bit is 1: what is then rounded to 16 bits is
/// rounded as if in one step.
inline double add_to_odd(double a, double b) noexcept {
  const double sum = a + b;
  const double of_b = sum - a, lost = (a - (sum - of_b)) + (b - of_b);  // Knuth, TwoSum: sum + lost is exact
  auto bits = std::bit_cast<std::uint64_t>(sum);
  if (!std::isfinite(sum) || lost == 0.0 || (bits & 1U) != 0) return sum;
  bits = (lost > 0.0) == (sum > 0.0) ? bits + 1 : bits - 1;
  return std::bit_cast<double>(bits);
}

/// As a GPU converts: toward zero, limited to the type's range; NaN gives 0.
template <typename Integer, typename Float>
constexpr Integer to_integer(Float value) noexcept {
  using Limits = std::numeric_limits<Integer>;
  constexpr auto kEnd = static_cast<Float>(Limits::max() / 2 + 1) * 2;  // a power of 2, which is exact
  if (value != value) return 0;
  if (value >= kEnd) return Limits::max();
  if (value <= static_cast<Float>(Limits::min())) return Limits::min();
  return static_cast<Integer>(value);
}

/// Limited to [0, 1]; NaN gives 0.
constexpr float saturated(float value) noexcept { return value > 0.0F ? (value < 1.0F ? value : 1.0F) : 0.0F; }

}  // namespace lockstep::emulator
