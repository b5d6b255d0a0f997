#pragma once
/// @file
/// __nv_bfloat162: two bfloat16 in 32 bits, and atomic additions to bfloat16.
#include "../vector_types.h"
#include "bfloat16.h"
#include "bfloat16_functions.h"
#include "source_place.h"

/// Two bfloat16, x at the lower address.
struct alignas(4) __nv_bfloat162 {
  __nv_bfloat16 x;
  __nv_bfloat16 y;
  __nv_bfloat162() = default;  ///< Uninitialised.
  constexpr __nv_bfloat162(const __nv_bfloat16& low, const __nv_bfloat16& high) noexcept : x(low), y(high) {}
};
using nv_bfloat162 = __nv_bfloat162;
template <>
inline constexpr bool lockstep::emulator::kIsShuffled<__nv_bfloat162> = true;

// clang-format off
constexpr __nv_bfloat162 make_bfloat162(__nv_bfloat16 low, __nv_bfloat16 high) { return {low, high}; }
constexpr __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 low, __nv_bfloat16 high) { return {low, high}; }
constexpr __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 value) { return {value, value}; }
constexpr __nv_bfloat162 __float2bfloat162_rn(float value) { return {value, value}; }
constexpr __nv_bfloat162 __floats2bfloat162_rn(float low, float high) { return {low, high}; }
constexpr __nv_bfloat162 __float22bfloat162_rn(float2 values) { return {values.x, values.y}; }
constexpr float2 __bfloat1622float2(__nv_bfloat162 pair) { return {pair.x, pair.y}; }
constexpr __nv_bfloat16 __low2bfloat16(__nv_bfloat162 pair) { return pair.x; }
constexpr __nv_bfloat16 __high2bfloat16(__nv_bfloat162 pair) { return pair.y; }
constexpr float __low2float(__nv_bfloat162 pair) { return pair.x; }
constexpr float __high2float(__nv_bfloat162 pair) { return pair.y; }
constexpr __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.x, b.x}; }
constexpr __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.y, b.y}; }
constexpr __nv_bfloat162 __lowhigh2highlow(__nv_bfloat162 a) { return {a.y, a.x}; }
constexpr __nv_bfloat162 __hadd2(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.x + b.x, a.y + b.y}; }
constexpr __nv_bfloat162 __hsub2(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.x - b.x, a.y - b.y}; }
constexpr __nv_bfloat162 __hmul2(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.x * b.x, a.y * b.y}; }
constexpr __nv_bfloat162 __h2div(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.x / b.x, a.y / b.y}; }
constexpr __nv_bfloat162 __hneg2(__nv_bfloat162 a) { return {-a.x, -a.y}; }
constexpr __nv_bfloat162 __habs2(__nv_bfloat162 a) { return {__habs(a.x), __habs(a.y)}; }
inline __nv_bfloat162 __hfma2(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }
inline __nv_bfloat162 __hmax2(__nv_bfloat162 a, __nv_bfloat162 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }
inline __nv_bfloat162 __hmin2(__nv_bfloat162 a, __nv_bfloat162 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }
constexpr __nv_bfloat162 operator+(const __nv_bfloat162& a, const __nv_bfloat162& b) { return __hadd2(a, b); }
constexpr __nv_bfloat162 operator-(const __nv_bfloat162& a, const __nv_bfloat162& b) { return __hsub2(a, b); }
constexpr __nv_bfloat162 operator*(const __nv_bfloat162& a, const __nv_bfloat162& b) { return __hmul2(a, b); }
constexpr __nv_bfloat162 operator/(const __nv_bfloat162& a, const __nv_bfloat162& b) { return __h2div(a, b); }
constexpr __nv_bfloat162& operator+=(__nv_bfloat162& a, const __nv_bfloat162& b) { return a = a + b; }
constexpr __nv_bfloat162& operator*=(__nv_bfloat162& a, const __nv_bfloat162& b) { return a = a * b; }
/// True if it holds for both elements; so != is not the opposite of ==.
constexpr bool operator==(const __nv_bfloat162& a, const __nv_bfloat162& b) { return a.x == b.x && a.y == b.y; }
constexpr bool operator!=(const __nv_bfloat162& a, const __nv_bfloat162& b) { return a.x != b.x && a.y != b.y; }
constexpr bool operator<(const __nv_bfloat162& a, const __nv_bfloat162& b) { return a.x < b.x && a.y < b.y; }
constexpr bool operator>(const __nv_bfloat162& a, const __nv_bfloat162& b) { return a.x > b.x && a.y > b.y; }
constexpr bool operator<=(const __nv_bfloat162& a, const __nv_bfloat162& b) { return a.x <= b.x && a.y <= b.y; }
constexpr bool operator>=(const __nv_bfloat162& a, const __nv_bfloat162& b) { return a.x >= b.x && a.y >= b.y; }
constexpr __nv_bfloat162& operator-=(__nv_bfloat162& a, const __nv_bfloat162& b) { return a = __hsub2(a, b); }
constexpr __nv_bfloat162& operator/=(__nv_bfloat162& a, const __nv_bfloat162& b) { return a = __h2div(a, b); }
constexpr __nv_bfloat162 operator-(const __nv_bfloat162& a) { return __hneg2(a); }
/// 1 where it holds, else 0.
constexpr __nv_bfloat162 __heq2(__nv_bfloat162 a, __nv_bfloat162 b) { return {__nv_bfloat16(a.x == b.x ? 1.0F : 0.0F), __nv_bfloat16(a.y == b.y ? 1.0F : 0.0F)}; }
constexpr __nv_bfloat162 __hne2(__nv_bfloat162 a, __nv_bfloat162 b) { return {__nv_bfloat16(__hne(a.x, b.x) ? 1.0F : 0.0F), __nv_bfloat16(__hne(a.y, b.y) ? 1.0F : 0.0F)}; }
constexpr __nv_bfloat162 __hlt2(__nv_bfloat162 a, __nv_bfloat162 b) { return {__nv_bfloat16(a.x < b.x ? 1.0F : 0.0F), __nv_bfloat16(a.y < b.y ? 1.0F : 0.0F)}; }
constexpr __nv_bfloat162 __hle2(__nv_bfloat162 a, __nv_bfloat162 b) { return {__nv_bfloat16(a.x <= b.x ? 1.0F : 0.0F), __nv_bfloat16(a.y <= b.y ? 1.0F : 0.0F)}; }
constexpr __nv_bfloat162 __hgt2(__nv_bfloat162 a, __nv_bfloat162 b) { return {__nv_bfloat16(a.x > b.x ? 1.0F : 0.0F), __nv_bfloat16(a.y > b.y ? 1.0F : 0.0F)}; }
constexpr __nv_bfloat162 __hge2(__nv_bfloat162 a, __nv_bfloat162 b) { return {__nv_bfloat16(a.x >= b.x ? 1.0F : 0.0F), __nv_bfloat16(a.y >= b.y ? 1.0F : 0.0F)}; }
/// True if it holds for both.
constexpr bool __hbeq2(__nv_bfloat162 a, __nv_bfloat162 b) { return a.x == b.x && a.y == b.y; }
constexpr bool __hbne2(__nv_bfloat162 a, __nv_bfloat162 b) { return __hne(a.x, b.x) && __hne(a.y, b.y); }
constexpr bool __hblt2(__nv_bfloat162 a, __nv_bfloat162 b) { return a.x < b.x && a.y < b.y; }
constexpr bool __hble2(__nv_bfloat162 a, __nv_bfloat162 b) { return a.x <= b.x && a.y <= b.y; }
constexpr bool __hbgt2(__nv_bfloat162 a, __nv_bfloat162 b) { return a.x > b.x && a.y > b.y; }
constexpr bool __hbge2(__nv_bfloat162 a, __nv_bfloat162 b) { return a.x >= b.x && a.y >= b.y; }
inline __nv_bfloat162 h2exp(__nv_bfloat162 a) { return {hexp(a.x), hexp(a.y)}; }
inline __nv_bfloat162 h2exp2(__nv_bfloat162 a) { return {hexp2(a.x), hexp2(a.y)}; }
inline __nv_bfloat162 h2exp10(__nv_bfloat162 a) { return {hexp10(a.x), hexp10(a.y)}; }
inline __nv_bfloat162 h2log(__nv_bfloat162 a) { return {hlog(a.x), hlog(a.y)}; }
inline __nv_bfloat162 h2log2(__nv_bfloat162 a) { return {hlog2(a.x), hlog2(a.y)}; }
inline __nv_bfloat162 h2log10(__nv_bfloat162 a) { return {hlog10(a.x), hlog10(a.y)}; }
inline __nv_bfloat162 h2sqrt(__nv_bfloat162 a) { return {hsqrt(a.x), hsqrt(a.y)}; }
inline __nv_bfloat162 h2rsqrt(__nv_bfloat162 a) { return {hrsqrt(a.x), hrsqrt(a.y)}; }
inline __nv_bfloat162 h2rcp(__nv_bfloat162 a) { return {hrcp(a.x), hrcp(a.y)}; }
inline __nv_bfloat162 h2sin(__nv_bfloat162 a) { return {hsin(a.x), hsin(a.y)}; }
inline __nv_bfloat162 h2cos(__nv_bfloat162 a) { return {hcos(a.x), hcos(a.y)}; }
inline __nv_bfloat162 h2tanh(__nv_bfloat162 a) { return {htanh(a.x), htanh(a.y)}; }
inline __nv_bfloat162 h2ceil(__nv_bfloat162 a) { return {hceil(a.x), hceil(a.y)}; }
inline __nv_bfloat162 h2floor(__nv_bfloat162 a) { return {hfloor(a.x), hfloor(a.y)}; }
inline __nv_bfloat162 h2trunc(__nv_bfloat162 a) { return {htrunc(a.x), htrunc(a.y)}; }
inline __nv_bfloat162 h2rint(__nv_bfloat162 a) { return {hrint(a.x), hrint(a.y)}; }
constexpr __nv_bfloat162 __hadd2_rn(__nv_bfloat162 a, __nv_bfloat162 b) { return __hadd2(a, b); }
constexpr __nv_bfloat162 __hmul2_rn(__nv_bfloat162 a, __nv_bfloat162 b) { return __hmul2(a, b); }
inline __nv_bfloat162 __hfma2_relu(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c) { return {__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)}; }
constexpr __nv_bfloat162 __low2bfloat162(__nv_bfloat162 pair) { return {pair.x, pair.x}; }
constexpr __nv_bfloat162 __high2bfloat162(__nv_bfloat162 pair) { return {pair.y, pair.y}; }
// clang-format on

/// Adds to one bfloat16; rounds the sum.
LOCKSTEP_EMULATOR_API __nv_bfloat16
atomicAdd(__nv_bfloat16* address, __nv_bfloat16 value,
          lockstep::emulator::SourcePlace at = lockstep::emulator::SourcePlace::here());
/// Adds to both elements; each addition is atomic, but the pair may not be.
LOCKSTEP_EMULATOR_API __nv_bfloat162
atomicAdd(__nv_bfloat162* address, __nv_bfloat162 value,
          lockstep::emulator::SourcePlace at = lockstep::emulator::SourcePlace::here());
