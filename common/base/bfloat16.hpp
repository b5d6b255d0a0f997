#pragma once
/// @file
/// bfloat16 to float32 and back.
#include <bit>
#include <cstdint>

#include "base/dtype.hpp"

namespace lockstep {

/// Exact: a bfloat16 is the upper half of a float32.
[[nodiscard]] constexpr float to_float(BFloat16 value) noexcept {
  return std::bit_cast<float>(std::uint32_t{value.bits} << 16);
}

/// Rounds to nearest, ties to even: an error of at most 2^-8 of the value. A NaN keeps its upper bits, with the quiet
/// bit set, because rounding up could turn its mantissa into infinity's.
[[nodiscard]] constexpr BFloat16 to_bfloat16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = bits + 0x7FFFU + ((bits >> 16) & 1U);
  const std::uint32_t chosen = value != value ? bits | 0x00400000U : rounded;
  return {static_cast<std::uint16_t>(chosen >> 16)};
}

}  // namespace lockstep
