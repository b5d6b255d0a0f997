#pragma once
/// @file
/// Inputs, and comparisons with float64 references, for the tests of operations. Private to these tests.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/bfloat16.hpp"
#include "base/float16.hpp"
#include "base/philox.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::kernels::testing {

using Values = std::vector<double>;

/// Standard normal elements; different for each key.
template <typename T>
Tensor random_tensor(const Shape& shape, std::uint64_t key, double deviation = 1.0) {
  std::vector<T> values(static_cast<std::size_t>(shape.count()));
  PhiloxSequence random(key);
  for (T& value : values) {
    const std::uint32_t first = random.next_word(), second = random.next_word();
    value = static_cast<T>(deviation * static_cast<double>(normal_floats(first, second)[0]));
  }
  return Tensor::from<T>(values, shape);
}

inline Tensor random_ids(const Shape& shape, std::int64_t bound, std::uint64_t key) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(shape.count()));
  PhiloxSequence random(key);
  for (auto& value : values) value = static_cast<std::int32_t>(random.next_below(static_cast<std::uint64_t>(bound)));
  return Tensor::from<std::int32_t>(values, shape);
}

/// The elements in double precision.
inline Values values_of(const Tensor& tensor) {
  if (tensor.dtype() == DType::kFloat64) return {tensor.span<double>().begin(), tensor.span<double>().end()};
  if (tensor.dtype() == DType::kFloat32) return {tensor.span<float>().begin(), tensor.span<float>().end()};
  Values values;
  if (tensor.dtype() == DType::kFloat16) {
    for (const Float16 value : tensor.span<Float16>()) values.push_back(static_cast<double>(to_float(value)));
    return values;
  }
  for (const BFloat16 value : tensor.span<BFloat16>()) values.push_back(static_cast<double>(to_float(value)));
  return values;
}

/// The largest |a - b|; infinity if the sizes differ or a comparison meets NaN.
inline double largest_difference(const Tensor& tensor, const Values& expected) {
  const Values values = values_of(tensor);
  if (values.size() != expected.size()) return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double difference = std::abs(values[i] - expected[i]);
    if (!(difference <= largest)) largest = std::isnan(difference) ? INFINITY : difference;
  }
  return largest;
}

inline bool equal_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() &&
         std::equal(static_cast<const std::byte*>(a.data()), static_cast<const std::byte*>(a.data()) + a.bytes(),
                    static_cast<const std::byte*>(b.data()));
}

/// Unit roundoff of T: half the distance from 1 to the next number.
template <typename T>
inline constexpr double kRoundoff = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;

/// d(sum of weights * outputs)/d(inputs) by central differences in double precision, for `evaluate` reading `input`.
/// The error is of order step^2 times third derivatives, plus roundoff / step: with step 1e-5 about 1e-10 relative.
inline Values finite_differences(const Tensor& input, const std::function<double()>& evaluate) {
  constexpr double kStep = 1e-5;
  Values gradient;
  for (double& value : input.span<double>()) {
    const double original = value;
    value = original + kStep;
    const double above = evaluate();
    value = original - kStep;
    const double below = evaluate();
    value = original;
    gradient.push_back((above - below) / (2 * kStep));
  }
  return gradient;
}

inline constexpr double kFiniteDifferenceTolerance =
    2e-8;  // 1e-10 relative on sums of up to a hundred terms of order 1

/// The sum of weights[i] * tensor[i].
inline double weighted_sum(const Tensor& tensor, const Tensor& weights) {
  const Values a = values_of(tensor), b = values_of(weights);
  double total = 0;
  for (std::size_t i = 0; i < a.size(); ++i) total += a[i] * b[i];
  return total;
}

}  // namespace lockstep::kernels::testing
