#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/bfloat16.hpp"
#include "support/catch.hpp"

TEST_CASE("float32 becomes the nearest bfloat16, ties to even, over all exponents", "[emulator]") {
  int wrong = 0;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 12345) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    const unsigned short got = __bfloat16_as_ushort(__float2bfloat16_rn(value));
    if (std::isnan(value) ? got != 0x7fff : got != lockstep::to_bfloat16(value).bits) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("float64 is rounded once", "[emulator]") {
  // 1 + 2^-8 is the middle between two bfloat16; a float32 cannot hold what 2^-40 adds to it.
  CHECK(static_cast<float>(__double2bfloat16(1.0 + 0x1p-8)) == 1.0F);
  CHECK(static_cast<float>(__double2bfloat16(1.0 + 0x1p-8 + 0x1p-40)) == 1.0F + 0x1p-7F);
  CHECK(static_cast<float>(__double2bfloat16(-1.0 - 0x1p-8 - 0x1p-40)) == -1.0F - 0x1p-7F);
  CHECK(static_cast<float>(__double2bfloat16(1.0 + 3 * 0x1p-8 - 0x1p-40)) == 1.0F + 0x1p-7F);
  CHECK(std::isinf(static_cast<float>(__double2bfloat16(1e300))));
  CHECK(__bfloat16_as_ushort(__double2bfloat16(-1e-300)) == 0x8000);  // a float32 cannot hold it
  CHECK(__half_as_ushort(__double2half(-1e-60)) == 0x8000);
  CHECK(__half_as_ushort(__double2half(1e-60)) == 0);
}

TEST_CASE("Arithmetic on bfloat16 rounds each result", "[emulator]") {
  const __nv_bfloat16 one(1.0F), small(0x1p-8F), large(256.0F);
  CHECK(static_cast<float>(one + small) == 1.0F);
  CHECK(static_cast<float>(large + one) == 256.0F);
  CHECK(static_cast<float>(__hfma(large, one, __float2bfloat16_rn(3.0F))) == 260.0F);  // 259, and ties go to even
  // 259 = 7 * 37 and 261 = 9 * 29 are midpoints; a float64 cannot hold what 2^-100 adds to them.
  const __nv_bfloat16 tiny(0x1p-100F);
  CHECK(static_cast<float>(__hfma(__nv_bfloat16(7.0F), __nv_bfloat16(37.0F), -tiny)) == 258.0F);
  CHECK(static_cast<float>(__hfma(__nv_bfloat16(9.0F), __nv_bfloat16(29.0F), tiny)) == 262.0F);
  CHECK(static_cast<float>(__hfma(__nv_bfloat16(-9.0F), __nv_bfloat16(29.0F), -tiny)) == -262.0F);
  CHECK(static_cast<float>(__hmul(__float2bfloat16_rn(1.5F), __float2bfloat16_rn(-2.5F))) == -3.75F);
  CHECK(static_cast<float>(__float2bfloat16_rz(1.9999F)) == 1.0F + 127.0F / 128.0F);
  const __nv_bfloat16 not_a_number(std::numeric_limits<float>::quiet_NaN());
  CHECK(__hisnan(not_a_number));
  CHECK(static_cast<float>(__hmax(not_a_number, one)) == 1.0F);
  CHECK(static_cast<float>(__hmin(one, not_a_number)) == 1.0F);
  CHECK(__hisinf(__nv_bfloat16(-std::numeric_limits<float>::infinity())) == -1);
  const __nv_bfloat162 pair = __floats2bfloat162_rn(1.0F, -2.0F);
  CHECK(std::bit_cast<std::uint32_t>(pair) == 0xc0003f80U);  // the first one is in the lower half
}

TEST_CASE("Every __half survives the way through float32", "[emulator]") {
  int wrong = 0;
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const float value = __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
    const unsigned short back = __half_as_ushort(__float2half_rn(value));
    if (std::isnan(value) ? back != 0x7fff : back != bits) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("float32 becomes the nearest __half, ties to even, even if it is subnormal", "[emulator]") {
  const auto rounded = [](float value) { return __half2float(__float2half(value)); };
  CHECK(rounded(1.0F + 0x1p-11F) == 1.0F);
  CHECK(rounded(1.0F + 3 * 0x1p-11F) == 1.0F + 0x1p-9F);
  CHECK(rounded(65519.0F) == 65504.0F);
  CHECK(std::isinf(rounded(65520.0F)));
  CHECK(rounded(0x1p-25F) == 0.0F);
  CHECK(rounded(3 * 0x1p-25F) == 0x1p-23F);
  CHECK(rounded(-0x1p-24F) == -0x1p-24F);
  CHECK(rounded(0x1.ffcp-15F + 0x1p-25F) == 0x1p-14F);  // from the largest subnormal up to the smallest normal number
}

TEST_CASE("Vector types have CUDA's sizes and alignments", "[emulator]") {
  CHECK((sizeof(float2) == 8 && alignof(float2) == 8));
  CHECK((sizeof(float3) == 12 && alignof(float3) == 4));
  CHECK((sizeof(float4) == 16 && alignof(float4) == 16));
  CHECK((sizeof(double4) == 32 && alignof(double4) == 16));
  CHECK((sizeof(uchar4) == 4 && alignof(uchar4) == 4));
  CHECK((sizeof(__nv_bfloat162) == 4 && alignof(__nv_bfloat162) == 4));
  CHECK(make_int4(1, 2, 3, 4).w == 4);
}

TEST_CASE("Bit functions are those of CUDA's reference", "[emulator]") {
  CHECK(__popc(0xf0f0U) == 8);
  CHECK(__clz(1) == 31);
  CHECK(__clz(0) == 32);
  CHECK(__ffs(0) == 0);
  CHECK(__ffs(8) == 4);
  CHECK(__brev(1U) == 0x80000000U);
  CHECK(__umulhi(0x80000000U, 6U) == 3U);
  CHECK(__mulhi(-1, 1) == -1);
  CHECK(__byte_perm(0x33221100U, 0x77665544U, 0x7531U) == 0x77553311U);
  CHECK(__byte_perm(0x80U, 0U, 0x9980U) == 0x0000ff80U);  // 8: the sign of byte 0, 9: of byte 1
  CHECK(__funnelshift_l(0x80000000U, 1U, 1U) == 3U);
  CHECK(max(3, 2U) == 3U);
  CHECK(min(-1.5F, 2) == -1.5F);
}

TEST_CASE("Conversions to integers are limited to their range, and NaN gives 0", "[emulator]") {
  using Int = std::numeric_limits<int>;
  const float infinity = std::numeric_limits<float>::infinity(), not_a_number = std::nanf("");
  CHECK(__float2int_rn(2.5F) == 2);
  CHECK(__float2int_rz(3e9F) == Int::max());
  CHECK(__float2int_rd(-infinity) == Int::min());
  CHECK(__float2int_ru(not_a_number) == 0);
  CHECK(__float2uint_rn(-3.0F) == 0U);
  CHECK(__float2uint_rz(4294967040.0F) == 4294967040U);  // the largest float32 below 2^32
  CHECK(__float2uint_rz(4294967296.0F) == std::numeric_limits<unsigned>::max());
  CHECK(__float2ll_rn(1e30F) == std::numeric_limits<long long>::max());
  CHECK(__double2int_rz(-2147483648.5) == Int::min());
  CHECK(__double2int_rn(2147483647.0) == Int::max());
  CHECK(__half2short_rz(__float2half(40000.0F)) == 32767);
  CHECK(__half2uint_rn(__float2half(-1.0F)) == 0U);
  CHECK(__bfloat162int_rz(__nv_bfloat16(-infinity)) == Int::min());
}

TEST_CASE("Of two numbers, max and min ignore one that is NaN", "[emulator]") {
  const float not_a_number = std::nanf("");
  CHECK(max(not_a_number, 1.0F) == 1.0F);
  CHECK(max(1.0F, not_a_number) == 1.0F);
  CHECK(min(not_a_number, -1.0) == -1.0);
  CHECK(min(2.0F, not_a_number) == 2.0F);
}

TEST_CASE("Directed rounding to __half encloses the value, and rounding to nearest gives one of the two",
          "[emulator]") {
  for (std::uint32_t i = 0; i < 200000; ++i) {
    const float value = std::bit_cast<float>(i * 21473U + 0x80000000U * (i & 1U));  // both signs, all exponents
    if (!(std::fabs(value) < 65504.0F)) continue;
    const float down = __half2float(__float2half_rd(value)), up = __half2float(__float2half_ru(value));
    const float toward_zero = __half2float(__float2half_rz(value)), nearest = __half2float(__float2half_rn(value));
    const bool is_right = down <= value && value <= up && (down == value) == (up == value) &&
                          (nearest == down || nearest == up) && toward_zero == (value < 0 ? up : down) &&
                          std::fabs(nearest - value) <= std::fabs((nearest == down ? up : down) - value);
    if (!is_right) FAIL("wrong for " << value << ": " << down << " " << nearest << " " << up);
  }
  CHECK(__half2float(__float2half_rz(1e6F)) == 65504.0F);
  CHECK(__half2float(__float2half_rn(65520.0F)) == std::numeric_limits<float>::infinity());
}

TEST_CASE("__half multiplies and adds with one rounding", "[emulator]") {
  // 2049 = 3 * 683 is the midpoint of 2048 and 2050; a float32 cannot hold what 2^-24 adds to it.
  const __half tiny = __ushort_as_half(1), big = __float2half(2048.0F), one = __float2half(1.0F);
  CHECK(__half2float(__hfma(one, one, big)) == 2048.0F);  // 2049: a tie, to even
  CHECK(__half2float(__hfma(__float2half(3.0F), __float2half(683.0F), tiny)) == 2050.0F);
  CHECK(__half2float(__hfma(__float2half(1.0009765625F), one, big)) == 2050.0F);
  CHECK(__half2float(one + tiny) == 1.0F);
  CHECK(__half2float(__hadd_sat(one, one)) == 1.0F);
  CHECK(__half2float(__hfma_relu(__hneg(one), one, tiny)) == 0.0F);
  CHECK(__hisnan(__hdiv(tiny - tiny, tiny - tiny)));
  CHECK(__half2float(__hmax(__hdiv(tiny - tiny, tiny - tiny), one)) == 1.0F);
  CHECK(__half_as_ushort(__hmin(__ushort_as_half(0xfe01), __ushort_as_half(0xfc02))) == 0x7fff);
}

TEST_CASE("Comparisons of pairs give a pair or one answer", "[emulator]") {
  const __half2 a = __floats2half2_rn(1.0F, 2.0F), b = __floats2half2_rn(1.0F, 3.0F);
  CHECK(__half22float2(__heq2(a, b)).x == 1.0F);
  CHECK(__half22float2(__heq2(a, b)).y == 0.0F);
  CHECK((__hble2(a, b) && !__hblt2(a, b) && !__hbeq2(a, b)));
  CHECK((a <= b && !(a < b) && !(a == b) && !(a != b)));  // only the second elements differ
  const __half2 unordered = __floats2half2_rn(std::nanf(""), 2.0F);
  CHECK((!__hne(unordered.x, a.x) && unordered.x != a.x && __hne(a.x, a.y)));  // __hne() asks for an order
  CHECK((__low2float(__hne2(unordered, a)) == 0.0F && !__hbne2(unordered, b) && __hbne2(a, __lowhigh2highlow(a))));
  const __nv_bfloat162 c = __floats2bfloat162_rn(1.0F, 2.0F);
  CHECK((__hbge2(c, c) && __high2float(__hgt2(c, c)) == 0.0F && __low2float(__high2bfloat162(c)) == 2.0F));
}
