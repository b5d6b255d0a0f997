#pragma once
/// @file
/// Vectors as long as the processor's registers, and functions that vectorise. Internal to this module.
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>

#ifdef __AVX512F__
#include <immintrin.h>
#endif

namespace lockstep::kernels {

/// The size of one vector register of the target processor. The compiler would split longer vectors, but keeps them in
/// memory: on an AVX2 machine a training step took 1.6 to 2 times as long.
#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

template <typename T>
struct VectorOf;
template <>
struct VectorOf<float> {
  using Type = float __attribute__((vector_size(kVectorBytes)));
  using Unaligned = float __attribute__((vector_size(kVectorBytes), aligned(4), may_alias));
};
template <>
struct VectorOf<double> {
  using Type = double __attribute__((vector_size(kVectorBytes)));
  using Unaligned = double __attribute__((vector_size(kVectorBytes), aligned(8), may_alias));
};

/// kLanes elements.
template <typename T>
using Vector = typename VectorOf<T>::Type;
template <typename T>
inline constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

template <typename T>
struct IntegersOf;  // as many int32 as `T` has floats
template <>
struct IntegersOf<float> {
  using Type = std::int32_t;
};
template <>
struct IntegersOf<Vector<float>> {
  using Type = std::int32_t __attribute__((vector_size(kVectorBytes)));
};

/// e^x for a float or a vector of floats: range reduction x = n ln 2 + r, |r| <= ln(2)/2, and a polynomial of degree 6
/// for e^r. Error below 2 units in the last place if the result is normal; infinity above 88.73, gradual underflow to 0
/// below -87.3; NaN for NaN.
template <typename V>
[[nodiscard]] inline V exponential(V x) noexcept {
  using I = typename IntegersOf<V>::Type;
  constexpr float kLog2E = 1.44269504088896341F;
  constexpr float kLn2High = 0.693359375F, kLn2Low = -2.12194440e-4F;  // high has few bits: n * high is exact
  constexpr float kRound = 0x1.8p23F;                                  // adding it rounds to an integer
  const V lowest = V{} - 104.0F, highest = V{} + 89.0F;
  V clamped = x < lowest ? lowest : x;  // a comparison with NaN is false: NaN passes
  clamped = clamped > highest ? highest : clamped;
  const V shifted = clamped * kLog2E + kRound;
  const V n = shifted - kRound;
  const V r = (clamped - n * kLn2High) - n * kLn2Low;
  V p = V{} + 1.3888889e-3F;
  p = p * r + 8.3333333e-3F;
  p = p * r + 4.1666666e-2F;
  p = p * r + 1.6666667e-1F;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
#ifdef __AVX512F__
  if constexpr (sizeof(V) == 64) return _mm512_maskz_scalef_ps(0xFFFF, p, n);  // p 2^n, for any n
#endif
  // 2^n in two factors, so that results near overflow and below the normal range are correct.
  const I exponent = std::bit_cast<I>(shifted) - std::bit_cast<std::int32_t>(kRound);
  const I half = exponent >> 1;
  return p * std::bit_cast<V>((half + 127) << 23) * std::bit_cast<V>((exponent - half + 127) << 23);
}

[[nodiscard]] inline float fast_exp(float x) noexcept { return exponential(x); }
[[nodiscard]] inline Vector<float> fast_exp(Vector<float> x) noexcept { return exponential(x); }

/// The library's exponential, so that one template serves both types.
[[nodiscard]] inline double fast_exp(double x) noexcept { return std::exp(x); }
[[nodiscard]] inline Vector<double> fast_exp(Vector<double> x) noexcept {
  for (int lane = 0; lane < kLanes<double>; ++lane) x[lane] = std::exp(x[lane]);
  return x;
}

template <typename T>
[[nodiscard]] inline Vector<T> load(const T* from) noexcept {
  return *reinterpret_cast<const typename VectorOf<T>::Unaligned*>(from);
}
template <typename T>
inline void store(T* to, Vector<T> value) noexcept {
  *reinterpret_cast<typename VectorOf<T>::Unaligned*>(to) = value;
}

/// The first `lanes` elements, then zeros.
template <typename T>
[[nodiscard]] inline Vector<T> load(const T* from, int lanes) noexcept {
  Vector<T> value{};
  for (int lane = 0; lane < lanes; ++lane) value[lane] = from[lane];
  return value;
}
template <typename T>
inline void store(T* to, Vector<T> value, int lanes) noexcept {
  for (int lane = 0; lane < lanes; ++lane) to[lane] = value[lane];
}

/// The number of lanes in use: all, known at compile time.
template <typename T>
using AllLanes = std::integral_constant<int, kLanes<T>>;
template <typename T>
[[nodiscard]] inline Vector<T> load(const T* from, AllLanes<T>) noexcept {
  return load(from);
}
template <typename T>
inline void store(T* to, Vector<T> value, AllLanes<T>) noexcept {
  store(to, value);
}

/// Calls body(offset, lanes) for each vector of [0, count): AllLanes for whole vectors, an int for the rest. Both use
/// the same arithmetic, so an element's result does not depend on its position.
template <typename T, typename Body>
inline void for_each_vector(std::int64_t count, const Body& body) {
  std::int64_t offset = 0;
  for (; offset + kLanes<T> <= count; offset += kLanes<T>) body(offset, AllLanes<T>{});
  if (offset < count) body(offset, static_cast<int>(count - offset));
}

/// Reduces a vector to one element by halves: op(lane, lane + step) for step ..., 4, 2, 1.
template <typename T, typename Op, int... kLane>
[[nodiscard]] inline T fold(Vector<T> v, const Op& op, std::integer_sequence<int, kLane...>) noexcept {
  constexpr int kCount = sizeof...(kLane);
  if constexpr (kCount > 8) v = op(v, __builtin_shufflevector(v, v, ((kLane + 8) % kCount)...));
  if constexpr (kCount > 4) v = op(v, __builtin_shufflevector(v, v, ((kLane + 4) % kCount)...));
  if constexpr (kCount > 2) v = op(v, __builtin_shufflevector(v, v, ((kLane + 2) % kCount)...));
  v = op(v, __builtin_shufflevector(v, v, ((kLane + 1) % kCount)...));
  return v[0];
}

template <typename T>
[[nodiscard]] inline T sum_of(Vector<T> vector) noexcept {
  return fold<T>(
      vector, [](Vector<T> a, Vector<T> b) { return a + b; }, std::make_integer_sequence<int, kLanes<T>>{});
}

template <typename T>
[[nodiscard]] inline Vector<T> larger(Vector<T> a, Vector<T> b) noexcept {
  return b > a ? b : a;
}
template <typename T>
[[nodiscard]] inline T largest_of(Vector<T> vector) noexcept {
  return fold<T>(vector, larger<T>, std::make_integer_sequence<int, kLanes<T>>{});
}

/// 0, 1, 2, ... as elements of T.
template <typename T>
[[nodiscard]] inline Vector<T> lane_numbers() noexcept {
  return []<int... kLane>(std::integer_sequence<int, kLane...>) { return Vector<T>{static_cast<T>(kLane)...}; }
  (std::make_integer_sequence<int, kLanes<T>>{});
}

}  // namespace lockstep::kernels
