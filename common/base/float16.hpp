#pragma once
/// @file
/// float16 to float32 and back.
/// @source IEEE 754-2008, section 3.4 (binary16) and 4.3.1 (rounding to nearest, ties to even).
#include <bit>
#include <cstdint>

#include "base/dtype.hpp"

namespace lockstep {

/// Exact: subnormal numbers, infinities and NaN included.
[[nodiscard]] constexpr float to_float(Float16 value) noexcept {
  const std::uint32_t sign = std::uint32_t{value.bits & 0x8000U} << 16, magnitude = value.bits & 0x7FFFU;
  if (magnitude < 0x0400U) {  // zero or subnormal: a multiple of 2^-24, which is a normal float32
    const float number = static_cast<float>(magnitude) * 0x1p-24F;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(number) | sign);
  }
  // The exponent bias is 15 here and 127 in a float32; exponent 31 means infinity or NaN, as 255 does there.
  const std::uint32_t rebias = magnitude >= 0x7C00U ? 255U - 31U : 127U - 15U;
  return std::bit_cast<float>(sign | ((magnitude << 13) + (rebias << 23)));
}

/// Rounds to nearest, ties to even: an error of at most 2^-11 of the value, or 2^-25 below 2^-14. From 65520 on the
/// result is infinite, so that an overflow can be seen. A NaN keeps its upper bits, with the quiet bit set.
[[nodiscard]] constexpr Float16 to_float16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000U, magnitude = bits & 0x7FFFFFFFU;
  std::uint32_t rounded = 0x7C00U;  // infinity
  if (magnitude > 0x7F800000U) {
    rounded = 0x7E00U | (magnitude >> 13 & 0x03FFU);
  } else if (magnitude < 0x38800000U) {  // below 2^-14: a multiple of 2^-24, as float32 steps between 0.5 and 1
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    rounded = std::bit_cast<std::uint32_t>(shifted) - 0x3F000000U;
  } else if (magnitude < 0x477FF000U) {  // 65520
    const std::uint32_t rebased = magnitude - ((127U - 15U) << 23);
    rounded = (rebased + 0x0FFFU + (rebased >> 13 & 1U)) >> 13;
  }
  return {static_cast<std::uint16_t>(sign | rounded)};
}

}  // namespace lockstep
