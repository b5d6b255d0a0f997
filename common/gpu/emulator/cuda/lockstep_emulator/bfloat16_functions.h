#pragma once
/// @file
/// Conversions and arithmetic on single __nv_bfloat16 values.
#include <cmath>
#include <limits>

#include "bfloat16.h"

// clang-format off
constexpr __nv_bfloat16 __float2bfloat16(float value) { return value; }
constexpr __nv_bfloat16 __float2bfloat16_rn(float value) { return value; }
/// Rounds toward zero: takes the upper half.
constexpr __nv_bfloat16 __float2bfloat16_rz(float value) {
  return value != value ? __nv_bfloat16(value) : __nv_bfloat16(__nv_bfloat16_raw{static_cast<unsigned short>(std::bit_cast<unsigned>(value) >> 16)});
}
constexpr __nv_bfloat16 __double2bfloat16(double value) { return value; }
constexpr float __bfloat162float(__nv_bfloat16 value) { return value; }
constexpr __nv_bfloat16 __int2bfloat16_rn(int value) { return value; }
constexpr __nv_bfloat16 __uint2bfloat16_rn(unsigned value) { return value; }
inline int __bfloat162int_rn(__nv_bfloat16 value) { return lockstep::emulator::to_integer<int>(std::nearbyint(static_cast<float>(value))); }
constexpr int __bfloat162int_rz(__nv_bfloat16 value) { return lockstep::emulator::to_integer<int>(static_cast<float>(value)); }
constexpr unsigned short __bfloat16_as_ushort(__nv_bfloat16 value) { return static_cast<__nv_bfloat16_raw>(value).x; }
constexpr short __bfloat16_as_short(__nv_bfloat16 value) { return std::bit_cast<short>(__bfloat16_as_ushort(value)); }
constexpr __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return __nv_bfloat16_raw{bits}; }
constexpr __nv_bfloat16 __short_as_bfloat16(short bits) { return __nv_bfloat16_raw{std::bit_cast<unsigned short>(bits)}; }

constexpr __nv_bfloat16 __hadd(__nv_bfloat16 a, __nv_bfloat16 b) { return a + b; }
constexpr __nv_bfloat16 __hsub(__nv_bfloat16 a, __nv_bfloat16 b) { return a - b; }
constexpr __nv_bfloat16 __hmul(__nv_bfloat16 a, __nv_bfloat16 b) { return a * b; }
constexpr __nv_bfloat16 __hdiv(__nv_bfloat16 a, __nv_bfloat16 b) { return a / b; }
constexpr __nv_bfloat16 __hneg(__nv_bfloat16 a) { return -a; }
constexpr __nv_bfloat16 __habs(__nv_bfloat16 a) { return __nv_bfloat16_raw{static_cast<unsigned short>(__bfloat16_as_ushort(a) & 0x7fffU)}; }
/// Rounds once: the product of two bfloat16 is exact in float64.
inline __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
  return lockstep::emulator::add_to_odd(static_cast<double>(static_cast<float>(a)) * static_cast<float>(b), static_cast<float>(c));
}
constexpr bool __heq(__nv_bfloat16 a, __nv_bfloat16 b) { return a == b; }
constexpr bool __hne(__nv_bfloat16 a, __nv_bfloat16 b) { return a < b || a > b; }  // unlike !=, false if one is NaN
constexpr bool __hlt(__nv_bfloat16 a, __nv_bfloat16 b) { return a < b; }
constexpr bool __hle(__nv_bfloat16 a, __nv_bfloat16 b) { return a <= b; }
constexpr bool __hgt(__nv_bfloat16 a, __nv_bfloat16 b) { return a > b; }
constexpr bool __hge(__nv_bfloat16 a, __nv_bfloat16 b) { return a >= b; }
constexpr bool __hisnan(__nv_bfloat16 a) { return a != a; }
constexpr int __hisinf(__nv_bfloat16 a) {
  const float value = a;
  return value == std::numeric_limits<float>::infinity() ? 1 : value == -std::numeric_limits<float>::infinity() ? -1 : 0;
}
/// If one is NaN, the other one; +0 is greater than -0.
inline __nv_bfloat16 __hmax(__nv_bfloat16 a, __nv_bfloat16 b) {
  if (__hisnan(a)) return static_cast<float>(b);  // the canonical NaN, if b is one too
  if (__hisnan(b)) return a;
  return a > b || (a == b && !std::signbit(static_cast<float>(a))) ? a : b;
}
/// If one is NaN, the other one; -0 is less than +0.
inline __nv_bfloat16 __hmin(__nv_bfloat16 a, __nv_bfloat16 b) {
  if (__hisnan(a)) return static_cast<float>(b);  // the canonical NaN, if b is one too
  if (__hisnan(b)) return a;
  return a < b || (a == b && std::signbit(static_cast<float>(a))) ? a : b;
}
inline __nv_bfloat16 hrcp(__nv_bfloat16 a) { return 1.0 / static_cast<double>(static_cast<float>(a)); }
inline __nv_bfloat16 hexp2(__nv_bfloat16 a) { return std::exp2(static_cast<float>(a)); }
inline __nv_bfloat16 hexp10(__nv_bfloat16 a) { return std::pow(10.0F, static_cast<float>(a)); }
inline __nv_bfloat16 hlog2(__nv_bfloat16 a) { return std::log2(static_cast<float>(a)); }
inline __nv_bfloat16 hlog10(__nv_bfloat16 a) { return std::log10(static_cast<float>(a)); }
inline __nv_bfloat16 hsin(__nv_bfloat16 a) { return std::sin(static_cast<float>(a)); }
inline __nv_bfloat16 hcos(__nv_bfloat16 a) { return std::cos(static_cast<float>(a)); }
inline __nv_bfloat16 htanh(__nv_bfloat16 a) { return std::tanh(static_cast<float>(a)); }
inline __nv_bfloat16 hceil(__nv_bfloat16 a) { return std::ceil(static_cast<float>(a)); }
inline __nv_bfloat16 hfloor(__nv_bfloat16 a) { return std::floor(static_cast<float>(a)); }
inline __nv_bfloat16 htrunc(__nv_bfloat16 a) { return std::trunc(static_cast<float>(a)); }
inline __nv_bfloat16 hrint(__nv_bfloat16 a) { return std::nearbyint(static_cast<float>(a)); }
constexpr __nv_bfloat16 __hadd_rn(__nv_bfloat16 a, __nv_bfloat16 b) { return a + b; }
constexpr __nv_bfloat16 __hsub_rn(__nv_bfloat16 a, __nv_bfloat16 b) { return a - b; }
constexpr __nv_bfloat16 __hmul_rn(__nv_bfloat16 a, __nv_bfloat16 b) { return a * b; }
/// Limited to [0, 1]; NaN gives 0.
constexpr __nv_bfloat16 __hadd_sat(__nv_bfloat16 a, __nv_bfloat16 b) { return lockstep::emulator::saturated(static_cast<float>(a) + static_cast<float>(b)); }
constexpr __nv_bfloat16 __hsub_sat(__nv_bfloat16 a, __nv_bfloat16 b) { return lockstep::emulator::saturated(static_cast<float>(a) - static_cast<float>(b)); }
constexpr __nv_bfloat16 __hmul_sat(__nv_bfloat16 a, __nv_bfloat16 b) { return lockstep::emulator::saturated(static_cast<float>(a) * static_cast<float>(b)); }
/// Negative results become 0.
inline __nv_bfloat16 __hfma_relu(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
  const __nv_bfloat16 sum = __hfma(a, b, c);
  return sum < __nv_bfloat16(0.0F) ? __nv_bfloat16(0.0F) : sum;
}
inline __nv_bfloat16 hexp(__nv_bfloat16 a) { return std::exp(static_cast<float>(a)); }
inline __nv_bfloat16 hlog(__nv_bfloat16 a) { return std::log(static_cast<float>(a)); }
inline __nv_bfloat16 hsqrt(__nv_bfloat16 a) { return std::sqrt(static_cast<float>(a)); }
inline __nv_bfloat16 hrsqrt(__nv_bfloat16 a) { return 1.0 / std::sqrt(static_cast<double>(static_cast<float>(a))); }
// clang-format on
