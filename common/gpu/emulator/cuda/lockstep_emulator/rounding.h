#pragma once
/// @file
/// Rounding of float64 to numbers of 16 bits.
#include <bit>
#include <cstdint>

namespace lockstep::emulator {

/// The float32 below or above `value` whose last bit is 1, unless `value` is a float32: what is then rounded to 16 bits
/// is rounded as if in one step.
constexpr float round_to_odd(double value) noexcept {
  const auto near = static_cast<float>(value);
  auto bits = std::bit_cast<std::uint32_t>(near);
  const bool is_exact = near != near || static_cast<double>(near) == value;
  if (!is_exact && (bits & 1U) == 0) {
    const bool is_beyond = near < 0.0F ? static_cast<double>(near) < value : static_cast<double>(near) > value;
    bits = is_beyond ? bits - 1 : bits | 1U;
  }
  return std::bit_cast<float>(bits);
}

/// Limited to [0, 1]; NaN gives 0.
constexpr float saturated(float value) noexcept { return value > 0.0F ? (value < 1.0F ? value : 1.0F) : 0.0F; }

}  // namespace lockstep::emulator
