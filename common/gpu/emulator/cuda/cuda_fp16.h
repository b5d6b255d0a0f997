#pragma once
/// @file
/// Replaces CUDA's header of this name: __half and its conversions. Arithmetic goes through float32.
#include <bit>
#include <cstdint>

#include "lockstep_emulator/warp.h"
#include "vector_types.h"

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

}  // namespace lockstep::emulator

/// IEEE 754 binary16.
struct __half {
  __half() = default;
  constexpr __half(float value) noexcept : bits_(lockstep::emulator::round_to_half(value)) {}     ///< Rounds.
  constexpr operator float() const noexcept { return lockstep::emulator::half_to_float(bits_); }  ///< Exact.

 private:
  unsigned short bits_;
};
/// Two __half, x at the lower address.
struct alignas(4) __half2 {
  __half x;
  __half y;
  __half2() = default;  ///< Uninitialised.
  constexpr __half2(const __half& low, const __half& high) noexcept : x(low), y(high) {}
};
using half = __half;
using half2 = __half2;
template <>
inline constexpr bool lockstep::emulator::kIsShuffled<__half> = true;
template <>
inline constexpr bool lockstep::emulator::kIsShuffled<__half2> = true;

// clang-format off
constexpr __half __float2half(float value) { return value; }
constexpr __half __float2half_rn(float value) { return value; }
constexpr float __half2float(__half value) { return value; }
constexpr unsigned short __half_as_ushort(__half value) { return std::bit_cast<unsigned short>(value); }
constexpr __half __ushort_as_half(unsigned short bits) { return std::bit_cast<__half>(bits); }
constexpr __half2 __halves2half2(__half low, __half high) { return {low, high}; }
constexpr __half2 __floats2half2_rn(float low, float high) { return {low, high}; }
constexpr __half2 __float22half2_rn(float2 values) { return {values.x, values.y}; }
constexpr float2 __half22float2(__half2 pair) { return {pair.x, pair.y}; }
constexpr __half __low2half(__half2 pair) { return pair.x; }
constexpr __half __high2half(__half2 pair) { return pair.y; }
constexpr float __low2float(__half2 pair) { return pair.x; }
constexpr float __high2float(__half2 pair) { return pair.y; }
// clang-format on
