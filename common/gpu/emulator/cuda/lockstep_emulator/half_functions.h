#pragma once
/// @file
/// Conversions and arithmetic on single __half values.
#include <cmath>
#include <limits>

#include "half.h"

// clang-format off
constexpr __half __float2half(float value) { return value; }
constexpr __half __float2half_rn(float value) { return value; }
/// Rounds toward zero.
constexpr __half __float2half_rz(float value) {
  const __half near(value);
  const float size = value < 0.0F ? -value : value, rounded = value < 0.0F ? -static_cast<float>(near) : static_cast<float>(near);
  return rounded > size ? __half(__half_raw{static_cast<unsigned short>(static_cast<__half_raw>(near).x - 1U)}) : near;
}
/// Rounds toward minus infinity.
constexpr __half __float2half_rd(float value) {
  const __half zero = __float2half_rz(value);
  return static_cast<float>(zero) > value ? __half(__half_raw{static_cast<unsigned short>(static_cast<__half_raw>(zero).x + 1U)}) : zero;
}
/// Rounds toward infinity.
constexpr __half __float2half_ru(float value) {
  const __half zero = __float2half_rz(value);
  return static_cast<float>(zero) < value ? __half(__half_raw{static_cast<unsigned short>(static_cast<__half_raw>(zero).x + 1U)}) : zero;
}
constexpr __half __double2half(double value) { return value; }
constexpr float __half2float(__half value) { return value; }
constexpr __half __int2half_rn(int value) { return value; }
constexpr __half __uint2half_rn(unsigned value) { return value; }
inline int __half2int_rn(__half value) { return lockstep::emulator::to_integer<int>(std::nearbyint(static_cast<float>(value))); }
constexpr int __half2int_rz(__half value) { return lockstep::emulator::to_integer<int>(static_cast<float>(value)); }
inline unsigned __half2uint_rn(__half value) { return lockstep::emulator::to_integer<unsigned>(std::nearbyint(static_cast<float>(value))); }
constexpr unsigned __half2uint_rz(__half value) { return lockstep::emulator::to_integer<unsigned>(static_cast<float>(value)); }
inline short __half2short_rn(__half value) { return lockstep::emulator::to_integer<short>(std::nearbyint(static_cast<float>(value))); }
constexpr short __half2short_rz(__half value) { return lockstep::emulator::to_integer<short>(static_cast<float>(value)); }
constexpr __half __short2half_rn(short value) { return value; }
constexpr __half __ushort2half_rn(unsigned short value) { return value; }
constexpr unsigned short __half_as_ushort(__half value) { return static_cast<__half_raw>(value).x; }
constexpr short __half_as_short(__half value) { return std::bit_cast<short>(__half_as_ushort(value)); }
constexpr __half __ushort_as_half(unsigned short bits) { return __half_raw{bits}; }
constexpr __half __short_as_half(short bits) { return __half_raw{std::bit_cast<unsigned short>(bits)}; }

constexpr __half __hadd(__half a, __half b) { return a + b; }
constexpr __half __hsub(__half a, __half b) { return a - b; }
constexpr __half __hmul(__half a, __half b) { return a * b; }
constexpr __half __hdiv(__half a, __half b) { return a / b; }
constexpr __half __hneg(__half a) { return -a; }
constexpr __half __habs(__half a) { return __half_raw{static_cast<unsigned short>(__half_as_ushort(a) & 0x7fffU)}; }
/// Rounds once: the product of two half is exact in float64.
inline __half __hfma(__half a, __half b, __half c) {
  return lockstep::emulator::add_to_odd(static_cast<double>(static_cast<float>(a)) * static_cast<float>(b), static_cast<float>(c));
}
constexpr bool __heq(__half a, __half b) { return a == b; }
constexpr bool __hne(__half a, __half b) { return a < b || a > b; }  // unlike !=, false if one is NaN
constexpr bool __hlt(__half a, __half b) { return a < b; }
constexpr bool __hle(__half a, __half b) { return a <= b; }
constexpr bool __hgt(__half a, __half b) { return a > b; }
constexpr bool __hge(__half a, __half b) { return a >= b; }
constexpr bool __hisnan(__half a) { return a != a; }
constexpr int __hisinf(__half a) {
  const float value = a;
  return value == std::numeric_limits<float>::infinity() ? 1 : value == -std::numeric_limits<float>::infinity() ? -1 : 0;
}
/// If one is NaN, the other one; +0 is greater than -0.
inline __half __hmax(__half a, __half b) {
  if (__hisnan(a)) return static_cast<float>(b);  // the canonical NaN, if b is one too
  if (__hisnan(b)) return a;
  return a > b || (a == b && !std::signbit(static_cast<float>(a))) ? a : b;
}
/// If one is NaN, the other one; -0 is less than +0.
inline __half __hmin(__half a, __half b) {
  if (__hisnan(a)) return static_cast<float>(b);  // the canonical NaN, if b is one too
  if (__hisnan(b)) return a;
  return a < b || (a == b && std::signbit(static_cast<float>(a))) ? a : b;
}
inline __half hrcp(__half a) { return 1.0 / static_cast<double>(static_cast<float>(a)); }
inline __half hexp2(__half a) { return std::exp2(static_cast<float>(a)); }
inline __half hexp10(__half a) { return std::pow(10.0F, static_cast<float>(a)); }
inline __half hlog2(__half a) { return std::log2(static_cast<float>(a)); }
inline __half hlog10(__half a) { return std::log10(static_cast<float>(a)); }
inline __half hsin(__half a) { return std::sin(static_cast<float>(a)); }
inline __half hcos(__half a) { return std::cos(static_cast<float>(a)); }
inline __half htanh(__half a) { return std::tanh(static_cast<float>(a)); }
inline __half hceil(__half a) { return std::ceil(static_cast<float>(a)); }
inline __half hfloor(__half a) { return std::floor(static_cast<float>(a)); }
inline __half htrunc(__half a) { return std::trunc(static_cast<float>(a)); }
inline __half hrint(__half a) { return std::nearbyint(static_cast<float>(a)); }
constexpr __half __hadd_rn(__half a, __half b) { return a + b; }
constexpr __half __hsub_rn(__half a, __half b) { return a - b; }
constexpr __half __hmul_rn(__half a, __half b) { return a * b; }
/// Limited to [0, 1]; NaN gives 0.
constexpr __half __hadd_sat(__half a, __half b) { return lockstep::emulator::saturated(static_cast<float>(a) + static_cast<float>(b)); }
constexpr __half __hsub_sat(__half a, __half b) { return lockstep::emulator::saturated(static_cast<float>(a) - static_cast<float>(b)); }
constexpr __half __hmul_sat(__half a, __half b) { return lockstep::emulator::saturated(static_cast<float>(a) * static_cast<float>(b)); }
/// Negative results become 0.
inline __half __hfma_relu(__half a, __half b, __half c) {
  const __half sum = __hfma(a, b, c);
  return sum < __half(0.0F) ? __half(0.0F) : sum;
}
inline __half hexp(__half a) { return std::exp(static_cast<float>(a)); }
inline __half hlog(__half a) { return std::log(static_cast<float>(a)); }
inline __half hsqrt(__half a) { return std::sqrt(static_cast<float>(a)); }
inline __half hrsqrt(__half a) { return 1.0 / std::sqrt(static_cast<double>(static_cast<float>(a))); }
// clang-format on
