#pragma once
/// @file
/// __half and its operators.
#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "rounding.h"
#include "warp.h"

namespace lockstep::emulator {

/// Rounds to IEEE 754 binary16, to nearest, ties to even.
constexpr std::uint16_t round_to_half(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000U, magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) return static_cast<std::uint16_t>(0x7fff);           // CUDA's canonical NaN
  if (magnitude >= 0x477ff000U) return static_cast<std::uint16_t>(sign | 0x7c00U);  // rounds to 65536 or more
  if (magnitude < 0x38800000U) {                                                    // below 2^-14: steps of 2^-24
    // Adding 0.5 gives float32 exactly this step size, so the addition rounds.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000U));
  }
  const std::uint32_t rebased = magnitude - 0x38000000U;  // the exponent's bias goes from 127 to 15
  return static_cast<std::uint16_t>(sign | (rebased + 0xfffU + (rebased >> 13 & 1U)) >> 13);
}
/// Exact.
constexpr float half_to_float(std::uint16_t half) noexcept {
  const std::uint32_t sign = std::uint32_t{half & 0x8000U} << 16, magnitude = half & 0x7fffU;
  if (magnitude >= 0x7c00U) return std::bit_cast<float>(sign | 0x7f800000U | (magnitude & 0x3ffU) << 13);
  const float value = magnitude < 0x400U ? static_cast<float>(magnitude) * 0x1p-24F
                                         : std::bit_cast<float>((magnitude << 13) + 0x38000000U);
  return sign != 0 ? -value : value;
}
/// Rounds a float64 once.
constexpr std::uint16_t round_to_half(double value) noexcept { return round_to_half(round_to_odd(value)); }

}  // namespace lockstep::emulator

/// The bits of a half.
struct __half_raw {
  unsigned short x;  ///< Sign, 5 bits of exponent, 10 of mantissa.
};

/// IEEE 754 binary16.
struct __half {
  __half() = default;
  constexpr __half(__half_raw raw) noexcept : bits_(raw.x) {}
  constexpr __half(float value) noexcept : bits_(lockstep::emulator::round_to_half(value)) {}   ///< Rounds.
  constexpr __half(double value) noexcept : bits_(lockstep::emulator::round_to_half(value)) {}  ///< Rounds.
  /// Rounds.
  template <std::integral Integer>
  constexpr __half(Integer value) noexcept : __half(static_cast<double>(value)) {}
  constexpr operator __half_raw() const noexcept { return {bits_}; }
  constexpr operator float() const noexcept { return lockstep::emulator::half_to_float(bits_); }  ///< Exact.
  /// Assigns the rounded value.
  template <typename Number>
  requires std::is_arithmetic_v<Number>
  constexpr __half& operator=(Number value) noexcept { return *this = __half(value); }

 private:
  unsigned short bits_;
};
using half = __half;
template <>
inline constexpr bool lockstep::emulator::kIsShuffled<__half> = true;

// clang-format off
constexpr __half operator+(const __half& a, const __half& b) { return static_cast<float>(a) + static_cast<float>(b); }
constexpr __half operator-(const __half& a, const __half& b) { return static_cast<float>(a) - static_cast<float>(b); }
constexpr __half operator*(const __half& a, const __half& b) { return static_cast<float>(a) * static_cast<float>(b); }
constexpr __half operator/(const __half& a, const __half& b) { return static_cast<float>(a) / static_cast<float>(b); }
constexpr __half& operator+=(__half& a, const __half& b) { return a = a + b; }
constexpr __half& operator-=(__half& a, const __half& b) { return a = a - b; }
constexpr __half& operator*=(__half& a, const __half& b) { return a = a * b; }
constexpr __half& operator/=(__half& a, const __half& b) { return a = a / b; }
constexpr __half operator+(const __half& a) { return a; }
constexpr __half operator-(const __half& a) { return __half_raw{static_cast<unsigned short>(static_cast<__half_raw>(a).x ^ 0x8000U)}; }
constexpr bool operator==(const __half& a, const __half& b) { return static_cast<float>(a) == static_cast<float>(b); }
constexpr bool operator!=(const __half& a, const __half& b) { return static_cast<float>(a) != static_cast<float>(b); }
constexpr bool operator<(const __half& a, const __half& b) { return static_cast<float>(a) < static_cast<float>(b); }
constexpr bool operator>(const __half& a, const __half& b) { return static_cast<float>(a) > static_cast<float>(b); }
constexpr bool operator<=(const __half& a, const __half& b) { return static_cast<float>(a) <= static_cast<float>(b); }
constexpr bool operator>=(const __half& a, const __half& b) { return static_cast<float>(a) >= static_cast<float>(b); }
// clang-format on
