#pragma once
// Element operations for reduce.cpp and reduce_many.cpp. Internal to this module.
#include <cstdint>
#include <type_traits>

#include "base/bfloat16.hpp"

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
// x != x holds only for NaN: b wins if it is smaller or NaN; if `a` is NaN, no b is smaller, so it stays.
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

}  // namespace lockstep::comm
