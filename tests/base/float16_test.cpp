// Conversions of float16, checked against the definition in float64 and, if the compiler has such a type, against that.
#include "base/float16.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "support/catch.hpp"

using namespace lockstep;

namespace {

constexpr unsigned kInfinityBits = 0x7C00;

Float16 half(unsigned bits) { return {static_cast<std::uint16_t>(bits)}; }

// The value that IEEE 754 gives to the bits of a binary16.
double value_of(unsigned bits) {
  const int exponent = static_cast<int>(bits >> 10) & 31, fraction = static_cast<int>(bits & 1023);
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
  return exponent == 0 ? sign * std::ldexp(fraction, -24) : sign * std::ldexp(1024 + fraction, exponent - 25);
}

}  // namespace

TEST_CASE("each of the 65536 float16 numbers becomes its value, and comes back as the same bits", "[base][fp16]") {
  int wrong = 0;
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const double expected = value_of(bits);
    const float found = to_float(half(bits));
    const unsigned back = to_float16(found).bits;
    if (std::isnan(expected)) {  // converting may set the quiet bit
      wrong += std::isnan(found) && back == (bits | 0x0200U) ? 0 : 1;
    } else {
      const bool is_right = static_cast<double>(found) == expected && std::signbit(found) == std::signbit(expected);
      wrong += is_right && back == bits ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("a value between two float16 numbers is rounded to the nearer one, and the middle to the even one",
          "[base][fp16]") {
  int wrong = 0;
  for (unsigned low = 0; low < kInfinityBits; ++low) {  // 0 and up: subnormal, normal, and the largest
    // The step after the largest number, 65504, would lead to 65536, so values round as if infinity were there.
    const double next = low + 1 == kInfinityBits ? 65536.0 : value_of(low + 1);
    const auto middle = static_cast<float>((value_of(low) + next) / 2);  // exact: one bit more than a float16 has
    const unsigned even = low % 2 == 0 ? low : low + 1;
    for (const unsigned sign : {0U, 0x8000U}) {
      const auto rounded = [&](float value) { return to_float16(sign == 0 ? value : -value).bits; };
      wrong += rounded(middle) == (sign | even) ? 0 : 1;
      wrong += rounded(std::nextafter(middle, 0.0F)) == (sign | low) ? 0 : 1;
      wrong += rounded(std::nextafter(middle, 1e9F)) == (sign | (low + 1)) ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("float16 overflows to infinity, underflows to a zero with its sign, and keeps NaN", "[base][fp16]") {
  CHECK(to_float16(65519.0F).bits == 0x7BFF);  // 65504
  CHECK(to_float16(65520.0F).bits == kInfinityBits);
  CHECK(to_float16(-1e30F).bits == 0xFC00);
  CHECK(to_float16(std::numeric_limits<float>::infinity()).bits == kInfinityBits);
  CHECK(to_float16(0x1p-25F).bits == 0);
  CHECK(to_float16(std::nextafter(0x1p-25F, 1.0F)).bits == 1);
  CHECK(to_float16(-1e-30F).bits == 0x8000);
  CHECK(to_float16(std::numeric_limits<float>::denorm_min()).bits == 0);
  // A signaling NaN stays a NaN even if all bits that float16 keeps of its fraction are 0.
  CHECK(to_float16(std::bit_cast<float>(0x7F800001U)).bits == 0x7E00);
  CHECK(to_float16(std::bit_cast<float>(0xFFC02000U)).bits == 0xFE01);
  static_assert(to_float(to_float16(0.5F)) == 0.5F);
}

#ifdef __FLT16_MAX__
#ifdef __aarch64__
using CompilersFloat16 = __fp16;  // g++ 12 has no _Float16 in C++ there
#else
using CompilersFloat16 = _Float16;
#endif

TEST_CASE("float16 is rounded as the compiler rounds it", "[base][fp16]") {
  int wrong = 0;
  // The step is a prime, so all exponents and endings occur.
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 4093) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    const auto expected = std::bit_cast<std::uint16_t>(static_cast<CompilersFloat16>(value));
    wrong += to_float16(value).bits == expected ? 0 : 1;
  }
  CHECK(wrong == 0);
}
#endif
