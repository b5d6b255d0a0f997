#pragma once
/// @file
/// Device functions that <cmath> lacks (CUDA Math API). The fast forms (__expf and others) are as exact here as the
/// others: a tolerance that holds on a GPU holds on the emulator, but not vice versa.
#include <math.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "../vector_types.h"
#include "rounding.h"

/// The larger value; unlike std::max, accepts two types, as in CUDA. If one is NaN, the other one.
template <typename A, typename B>
requires std::is_arithmetic_v<A> && std::is_arithmetic_v<B>
constexpr std::common_type_t<A, B> max(A a, B b) {
  using Common = std::common_type_t<A, B>;
  const auto x = static_cast<Common>(a), y = static_cast<Common>(b);
  if constexpr (std::is_floating_point_v<Common>) {
    if (x != x) return y;
  }
  return x < y ? y : x;
}
/// The smaller value; unlike std::min, accepts two types, as in CUDA. If one is NaN, the other one.
template <typename A, typename B>
requires std::is_arithmetic_v<A> && std::is_arithmetic_v<B>
constexpr std::common_type_t<A, B> min(A a, B b) {
  using Common = std::common_type_t<A, B>;
  const auto x = static_cast<Common>(a), y = static_cast<Common>(b);
  if constexpr (std::is_floating_point_v<Common>) {
    if (x != x) return y;
  }
  return y < x ? y : x;
}

// clang-format off
inline float rsqrtf(float x) { return 1.0F / std::sqrt(x); }
inline double rsqrt(double x) { return 1.0 / std::sqrt(x); }
inline float __expf(float x) { return std::exp(x); }
inline float __exp10f(float x) { return std::pow(10.0F, x); }
inline float __logf(float x) { return std::log(x); }
inline float __log2f(float x) { return std::log2(x); }
inline float __log10f(float x) { return std::log10(x); }
inline float __sinf(float x) { return std::sin(x); }
inline float __cosf(float x) { return std::cos(x); }
inline float __tanf(float x) { return std::tan(x); }
inline float __powf(float x, float y) { return std::pow(x, y); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __saturatef(float x) { return x > 0.0F ? (x < 1.0F ? x : 1.0F) : 0.0F; }  // NaN gives 0
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fsub_rn(float x, float y) { return x - y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __fsqrt_rn(float x) { return std::sqrt(x); }
inline float __frcp_rn(float x) { return 1.0F / x; }
inline float __frsqrt_rn(float x) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x))); }
inline float __fmaf_rn(float x, float y, float z) { return std::fma(x, y, z); }
inline double __dadd_rn(double x, double y) { return x + y; }
inline double __dmul_rn(double x, double y) { return x * y; }
inline double __fma_rn(double x, double y, double z) { return std::fma(x, y, z); }

inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }
inline int __float2int_rn(float x) { return lockstep::emulator::to_integer<int>(std::nearbyint(x)); }
inline int __float2int_rz(float x) { return lockstep::emulator::to_integer<int>(x); }
inline int __float2int_rd(float x) { return lockstep::emulator::to_integer<int>(std::floor(x)); }
inline int __float2int_ru(float x) { return lockstep::emulator::to_integer<int>(std::ceil(x)); }
inline unsigned __float2uint_rn(float x) { return lockstep::emulator::to_integer<unsigned>(std::nearbyint(x)); }
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }

inline int __popc(unsigned x) { return std::popcount(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return std::countl_zero(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1; }  // counts from 1
inline int __ffsll(long long x) { return x == 0 ? 0 : std::countr_zero(static_cast<unsigned long long>(x)) + 1; }
inline unsigned __brev(unsigned x) {
  unsigned reversed = 0;
  for (int bit = 0; bit < 32; ++bit) reversed |= (x >> bit & 1U) << (31 - bit);
  return reversed;
}
inline unsigned __umulhi(unsigned x, unsigned y) { return static_cast<unsigned>((std::uint64_t{x} * y) >> 32); }
inline int __mulhi(int x, int y) { return static_cast<int>((std::int64_t{x} * y) >> 32); }
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(((std::uint64_t{high} << 32 | low) << (shift & 31U)) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((std::uint64_t{high} << 32 | low) >> (shift & 31U));
}
/// Selects four of the eight bytes of `y:x`; a selector's fourth bit replicates the byte's sign instead.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const std::uint64_t bytes = std::uint64_t{y} << 32 | x;
  unsigned result = 0;
  for (int index = 0; index < 4; ++index) {
    const unsigned choice = selector >> (4 * index);
    unsigned byte = static_cast<unsigned>(bytes >> (8 * (choice & 7U))) & 0xffU;
    if ((choice & 8U) != 0) byte = (byte & 0x80U) != 0 ? 0xffU : 0U;
    result |= byte << (8 * index);
  }
  return result;
}
inline int __mul24(int x, int y) { return static_cast<int>(static_cast<unsigned>(x << 8 >> 8) * static_cast<unsigned>(y << 8 >> 8)); }
inline unsigned __umul24(unsigned x, unsigned y) { return (x & 0xffffffU) * (y & 0xffffffU); }
inline unsigned __sad(int x, int y, unsigned z) { return z + (x < y ? static_cast<unsigned>(y) - static_cast<unsigned>(x) : static_cast<unsigned>(x) - static_cast<unsigned>(y)); }
inline unsigned __usad(unsigned x, unsigned y, unsigned z) { return z + (x < y ? y - x : x - y); }
inline double __int2double_rn(int x) { return x; }
inline double __drcp_rn(double x) { return 1.0 / x; }
inline double __dsqrt_rn(double x) { return std::sqrt(x); }
inline double __ddiv_rn(double x, double y) { return x / y; }
inline long long __float2ll_rn(float x) { return lockstep::emulator::to_integer<long long>(std::nearbyint(x)); }
inline unsigned __float2uint_rz(float x) { return lockstep::emulator::to_integer<unsigned>(x); }
inline int __double2int_rn(double x) { return lockstep::emulator::to_integer<int>(std::nearbyint(x)); }
inline int __double2int_rz(double x) { return lockstep::emulator::to_integer<int>(x); }
inline float __double2float_rn(double x) { return static_cast<float>(x); }
inline void __sincosf(float x, float* sine, float* cosine) { *sine = std::sin(x); *cosine = std::cos(x); }
inline float rcbrtf(float x) { return 1.0F / std::cbrt(x); }
inline float normcdff(float x) { return 0.5F * std::erfc(-x * 0.70710678F); }
inline double normcdf(double x) { return 0.5 * std::erfc(-x * 0.70710678118654752); }
inline float rhypotf(float x, float y) { return 1.0F / std::hypot(x, y); }
inline float norm3df(float x, float y, float z) { return std::hypot(x, y, z); }
inline float fdividef(float x, float y) { return x / y; }

namespace lockstep::emulator {
/// The sum of the products of four bytes each, and `sum`; wraps around.
template <typename Byte>
unsigned dot_bytes(unsigned x, unsigned y, unsigned sum) {
  for (int shift = 0; shift < 32; shift += 8) sum += static_cast<unsigned>(static_cast<Byte>(x >> shift) * static_cast<Byte>(y >> shift));
  return sum;
}
}  // namespace lockstep::emulator
inline int __dp4a(int x, int y, int sum) { return static_cast<int>(lockstep::emulator::dot_bytes<std::int8_t>(static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(sum))); }
inline unsigned __dp4a(unsigned x, unsigned y, unsigned sum) { return lockstep::emulator::dot_bytes<std::uint8_t>(x, y, sum); }
inline int __dp4a(char4 x, char4 y, int sum) { return __dp4a(std::bit_cast<int>(x), std::bit_cast<int>(y), sum); }
inline unsigned __dp4a(uchar4 x, uchar4 y, unsigned sum) { return __dp4a(std::bit_cast<unsigned>(x), std::bit_cast<unsigned>(y), sum); }
// clang-format on
