#pragma once
// Element operations for reduce.cpp and reduce_many.cpp. Internal to this module.
#include <cstdint>
#include <type_traits>

#include "base/bfloat16.hpp"

namespace lockstep::comm {

// Sums and products of integers run unsigned: the bits are the same, but overflow wraps instead of being undefined.
template <typename T>
using Wrapping = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;

// One functor per operation. Each is a branch-free expression, so that a loop over it becomes vector instructions.
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
// NaN wins. Only NaN differs from itself, so b is taken if it is smaller or NaN. If `a` is NaN, no b is smaller.
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
