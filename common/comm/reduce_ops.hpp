#pragma once
// Two elements become one: what reduce.cpp and reduce_many.cpp are made of; not for others.
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/dtype.hpp"

namespace lockstep::comm {

// Signed overflow is undefined, unsigned wraps, and both give the same bits: sums and products run unsigned.
template <typename T>
using Wrapping = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;

// One functor per operation; each is a branch-free expression, so that the loop below becomes vector instructions.
struct Add {
  template <typename T>
  T operator()(T a, T b) const {
    return a + b;
  }
};
struct Multiply {
  template <typename T>
  T operator()(T a, T b) const {
    return a * b;
  }
};
// x != x holds for NaN alone: b wins where it is smaller or NaN; a NaN in `a` is never smaller, so it stays.
struct Minimum {
  template <typename T>
  T operator()(T a, T b) const {
    return (b < a) | (b != b) ? b : a;
  }
};
struct Maximum {
  template <typename T>
  T operator()(T a, T b) const {
    return (b > a) | (b != b) ? b : a;
  }
};

inline float to_float(BFloat16 value) {
  const std::uint32_t bits = std::uint32_t{value.bits} << 16;
  float result;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

// Round to nearest, ties to even. A NaN keeps its upper bits, with the quiet bit set: rounding up could turn its
// mantissa into infinity's.
inline BFloat16 to_bfloat16(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const std::uint32_t rounded = bits + 0x7FFFU + ((bits >> 16) & 1U);
  const std::uint32_t chosen = value != value ? bits | 0x00400000U : rounded;
  return {static_cast<std::uint16_t>(chosen >> 16)};
}

}  // namespace lockstep::comm
