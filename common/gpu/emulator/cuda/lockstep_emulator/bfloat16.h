#pragma once
/// @file
/// __nv_bfloat16 and its operators.
#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "rounding.h"
#include "warp.h"

namespace lockstep::emulator {

/// Rounds to nearest, ties to even. A NaN becomes CUDA's canonical NaN.
constexpr std::uint16_t round_to_bfloat16(float value) noexcept {
  if (value != value) return 0x7fff;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}
/// Rounds a float64 once.
constexpr std::uint16_t round_to_bfloat16(double value) noexcept { return round_to_bfloat16(round_to_odd(value)); }

}  // namespace lockstep::emulator

/// The bits of a bfloat16.
struct __nv_bfloat16_raw {
  unsigned short x;  ///< The upper half of a float32.
};

/// One bfloat16: sign, 8 bits of exponent, 7 of mantissa.
struct __nv_bfloat16 {
  __nv_bfloat16() = default;
  constexpr __nv_bfloat16(__nv_bfloat16_raw raw) noexcept : bits_(raw.x) {}
  constexpr __nv_bfloat16(float value) noexcept : bits_(lockstep::emulator::round_to_bfloat16(value)) {}   ///< Rounds.
  constexpr __nv_bfloat16(double value) noexcept : bits_(lockstep::emulator::round_to_bfloat16(value)) {}  ///< Rounds.
  /// Rounds.
  template <std::integral Integer>
  constexpr __nv_bfloat16(Integer value) noexcept : __nv_bfloat16(static_cast<double>(value)) {}
  constexpr operator __nv_bfloat16_raw() const noexcept { return {bits_}; }
  /// Exact.
  constexpr operator float() const noexcept { return std::bit_cast<float>(std::uint32_t{bits_} << 16); }
  /// Assigns the rounded value.
  template <typename Number>
  requires std::is_arithmetic_v<Number>
  constexpr __nv_bfloat16& operator=(Number value) noexcept { return *this = __nv_bfloat16(value); }

 private:
  unsigned short bits_;
};
using nv_bfloat16 = __nv_bfloat16;
template <>
inline constexpr bool lockstep::emulator::kIsShuffled<__nv_bfloat16> = true;

// clang-format off
constexpr __nv_bfloat16 operator+(const __nv_bfloat16& a, const __nv_bfloat16& b) { return static_cast<float>(a) + static_cast<float>(b); }
constexpr __nv_bfloat16 operator-(const __nv_bfloat16& a, const __nv_bfloat16& b) { return static_cast<float>(a) - static_cast<float>(b); }
constexpr __nv_bfloat16 operator*(const __nv_bfloat16& a, const __nv_bfloat16& b) { return static_cast<float>(a) * static_cast<float>(b); }
constexpr __nv_bfloat16 operator/(const __nv_bfloat16& a, const __nv_bfloat16& b) { return static_cast<float>(a) / static_cast<float>(b); }
constexpr __nv_bfloat16& operator+=(__nv_bfloat16& a, const __nv_bfloat16& b) { return a = a + b; }
constexpr __nv_bfloat16& operator-=(__nv_bfloat16& a, const __nv_bfloat16& b) { return a = a - b; }
constexpr __nv_bfloat16& operator*=(__nv_bfloat16& a, const __nv_bfloat16& b) { return a = a * b; }
constexpr __nv_bfloat16& operator/=(__nv_bfloat16& a, const __nv_bfloat16& b) { return a = a / b; }
constexpr __nv_bfloat16 operator+(const __nv_bfloat16& a) { return a; }
constexpr __nv_bfloat16 operator-(const __nv_bfloat16& a) { return __nv_bfloat16_raw{static_cast<unsigned short>(static_cast<__nv_bfloat16_raw>(a).x ^ 0x8000U)}; }
constexpr bool operator==(const __nv_bfloat16& a, const __nv_bfloat16& b) { return static_cast<float>(a) == static_cast<float>(b); }
constexpr bool operator!=(const __nv_bfloat16& a, const __nv_bfloat16& b) { return static_cast<float>(a) != static_cast<float>(b); }
constexpr bool operator<(const __nv_bfloat16& a, const __nv_bfloat16& b) { return static_cast<float>(a) < static_cast<float>(b); }
constexpr bool operator>(const __nv_bfloat16& a, const __nv_bfloat16& b) { return static_cast<float>(a) > static_cast<float>(b); }
constexpr bool operator<=(const __nv_bfloat16& a, const __nv_bfloat16& b) { return static_cast<float>(a) <= static_cast<float>(b); }
constexpr bool operator>=(const __nv_bfloat16& a, const __nv_bfloat16& b) { return static_cast<float>(a) >= static_cast<float>(b); }
// clang-format on
