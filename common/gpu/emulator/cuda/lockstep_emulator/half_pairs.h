#pragma once
/// @file
/// __half2: two half in 32 bits, and atomic additions to half.
#include "../vector_types.h"
#include "half.h"
#include "half_functions.h"
#include "source_place.h"

/// Two half, x at the lower address.
struct alignas(4) __half2 {
  __half x;
  __half y;
  __half2() = default;  ///< Uninitialised.
  constexpr __half2(const __half& low, const __half& high) noexcept : x(low), y(high) {}
};
using half2 = __half2;
template <>
inline constexpr bool lockstep::emulator::kIsShuffled<__half2> = true;

// clang-format off
constexpr __half2 make_half2(__half low, __half high) { return {low, high}; }
constexpr __half2 __halves2half2(__half low, __half high) { return {low, high}; }
constexpr __half2 __half2half2(__half value) { return {value, value}; }
constexpr __half2 __float2half2_rn(float value) { return {value, value}; }
constexpr __half2 __floats2half2_rn(float low, float high) { return {low, high}; }
constexpr __half2 __float22half2_rn(float2 values) { return {values.x, values.y}; }
constexpr float2 __half22float2(__half2 pair) { return {pair.x, pair.y}; }
constexpr __half __low2half(__half2 pair) { return pair.x; }
constexpr __half __high2half(__half2 pair) { return pair.y; }
constexpr float __low2float(__half2 pair) { return pair.x; }
constexpr float __high2float(__half2 pair) { return pair.y; }
constexpr __half2 __lows2half2(__half2 a, __half2 b) { return {a.x, b.x}; }
constexpr __half2 __highs2half2(__half2 a, __half2 b) { return {a.y, b.y}; }
constexpr __half2 __lowhigh2highlow(__half2 a) { return {a.y, a.x}; }
constexpr __half2 __hadd2(__half2 a, __half2 b) { return {a.x + b.x, a.y + b.y}; }
constexpr __half2 __hsub2(__half2 a, __half2 b) { return {a.x - b.x, a.y - b.y}; }
constexpr __half2 __hmul2(__half2 a, __half2 b) { return {a.x * b.x, a.y * b.y}; }
constexpr __half2 __h2div(__half2 a, __half2 b) { return {a.x / b.x, a.y / b.y}; }
constexpr __half2 __hneg2(__half2 a) { return {-a.x, -a.y}; }
constexpr __half2 __habs2(__half2 a) { return {__habs(a.x), __habs(a.y)}; }
inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }
inline __half2 __hmax2(__half2 a, __half2 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }
inline __half2 __hmin2(__half2 a, __half2 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }
constexpr __half2 operator+(const __half2& a, const __half2& b) { return __hadd2(a, b); }
constexpr __half2 operator-(const __half2& a, const __half2& b) { return __hsub2(a, b); }
constexpr __half2 operator*(const __half2& a, const __half2& b) { return __hmul2(a, b); }
constexpr __half2 operator/(const __half2& a, const __half2& b) { return __h2div(a, b); }
constexpr __half2& operator+=(__half2& a, const __half2& b) { return a = a + b; }
constexpr __half2& operator*=(__half2& a, const __half2& b) { return a = a * b; }
/// True if it holds for both elements; so != is not the opposite of ==.
constexpr bool operator==(const __half2& a, const __half2& b) { return a.x == b.x && a.y == b.y; }
constexpr bool operator!=(const __half2& a, const __half2& b) { return a.x != b.x && a.y != b.y; }
constexpr bool operator<(const __half2& a, const __half2& b) { return a.x < b.x && a.y < b.y; }
constexpr bool operator>(const __half2& a, const __half2& b) { return a.x > b.x && a.y > b.y; }
constexpr bool operator<=(const __half2& a, const __half2& b) { return a.x <= b.x && a.y <= b.y; }
constexpr bool operator>=(const __half2& a, const __half2& b) { return a.x >= b.x && a.y >= b.y; }
constexpr __half2& operator-=(__half2& a, const __half2& b) { return a = __hsub2(a, b); }
constexpr __half2& operator/=(__half2& a, const __half2& b) { return a = __h2div(a, b); }
constexpr __half2 operator-(const __half2& a) { return __hneg2(a); }
/// 1 where it holds, else 0.
constexpr __half2 __heq2(__half2 a, __half2 b) { return {__half(a.x == b.x ? 1.0F : 0.0F), __half(a.y == b.y ? 1.0F : 0.0F)}; }
constexpr __half2 __hne2(__half2 a, __half2 b) { return {__half(__hne(a.x, b.x) ? 1.0F : 0.0F), __half(__hne(a.y, b.y) ? 1.0F : 0.0F)}; }
constexpr __half2 __hlt2(__half2 a, __half2 b) { return {__half(a.x < b.x ? 1.0F : 0.0F), __half(a.y < b.y ? 1.0F : 0.0F)}; }
constexpr __half2 __hle2(__half2 a, __half2 b) { return {__half(a.x <= b.x ? 1.0F : 0.0F), __half(a.y <= b.y ? 1.0F : 0.0F)}; }
constexpr __half2 __hgt2(__half2 a, __half2 b) { return {__half(a.x > b.x ? 1.0F : 0.0F), __half(a.y > b.y ? 1.0F : 0.0F)}; }
constexpr __half2 __hge2(__half2 a, __half2 b) { return {__half(a.x >= b.x ? 1.0F : 0.0F), __half(a.y >= b.y ? 1.0F : 0.0F)}; }
/// True if it holds for both.
constexpr bool __hbeq2(__half2 a, __half2 b) { return a.x == b.x && a.y == b.y; }
constexpr bool __hbne2(__half2 a, __half2 b) { return __hne(a.x, b.x) && __hne(a.y, b.y); }
constexpr bool __hblt2(__half2 a, __half2 b) { return a.x < b.x && a.y < b.y; }
constexpr bool __hble2(__half2 a, __half2 b) { return a.x <= b.x && a.y <= b.y; }
constexpr bool __hbgt2(__half2 a, __half2 b) { return a.x > b.x && a.y > b.y; }
constexpr bool __hbge2(__half2 a, __half2 b) { return a.x >= b.x && a.y >= b.y; }
inline __half2 h2exp(__half2 a) { return {hexp(a.x), hexp(a.y)}; }
inline __half2 h2exp2(__half2 a) { return {hexp2(a.x), hexp2(a.y)}; }
inline __half2 h2exp10(__half2 a) { return {hexp10(a.x), hexp10(a.y)}; }
inline __half2 h2log(__half2 a) { return {hlog(a.x), hlog(a.y)}; }
inline __half2 h2log2(__half2 a) { return {hlog2(a.x), hlog2(a.y)}; }
inline __half2 h2log10(__half2 a) { return {hlog10(a.x), hlog10(a.y)}; }
inline __half2 h2sqrt(__half2 a) { return {hsqrt(a.x), hsqrt(a.y)}; }
inline __half2 h2rsqrt(__half2 a) { return {hrsqrt(a.x), hrsqrt(a.y)}; }
inline __half2 h2rcp(__half2 a) { return {hrcp(a.x), hrcp(a.y)}; }
inline __half2 h2sin(__half2 a) { return {hsin(a.x), hsin(a.y)}; }
inline __half2 h2cos(__half2 a) { return {hcos(a.x), hcos(a.y)}; }
inline __half2 h2tanh(__half2 a) { return {htanh(a.x), htanh(a.y)}; }
inline __half2 h2ceil(__half2 a) { return {hceil(a.x), hceil(a.y)}; }
inline __half2 h2floor(__half2 a) { return {hfloor(a.x), hfloor(a.y)}; }
inline __half2 h2trunc(__half2 a) { return {htrunc(a.x), htrunc(a.y)}; }
inline __half2 h2rint(__half2 a) { return {hrint(a.x), hrint(a.y)}; }
constexpr __half2 __hadd2_rn(__half2 a, __half2 b) { return __hadd2(a, b); }
constexpr __half2 __hmul2_rn(__half2 a, __half2 b) { return __hmul2(a, b); }
inline __half2 __hfma2_relu(__half2 a, __half2 b, __half2 c) { return {__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)}; }
constexpr __half2 __low2half2(__half2 pair) { return {pair.x, pair.x}; }
constexpr __half2 __high2half2(__half2 pair) { return {pair.y, pair.y}; }
// clang-format on

/// Adds to one half; rounds the sum.
LOCKSTEP_EMULATOR_API __half atomicAdd(__half* address, __half value,
                                       lockstep::emulator::SourcePlace at = lockstep::emulator::SourcePlace::here());
/// Adds to both elements; each addition is atomic, but the pair may not be.
LOCKSTEP_EMULATOR_API __half2 atomicAdd(__half2* address, __half2 value,
                                        lockstep::emulator::SourcePlace at = lockstep::emulator::SourcePlace::here());
