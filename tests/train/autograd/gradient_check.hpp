#pragma once
/// @file
/// Gradients against central finite differences in float64, and random tensors to check them on.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "autograd/functions.hpp"
#include "autograd/variable.hpp"
#include "base/philox.hpp"
#include "base/text.hpp"
#include "tensor/tensor.hpp"

namespace lockstep::test {

/// Standard normal elements; the same values for float32 (rounded) and float64.
inline Tensor random_tensor(const Shape& shape, std::uint64_t seed, DType dtype = DType::kFloat64) {
  Tensor tensor = Tensor::empty(shape, dtype);
  PhiloxSequence words(seed);
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    const std::uint32_t word0 = words.next_word(), word1 = words.next_word();
    const float value = normal_floats(word0, word1)[0];
    if (dtype == DType::kFloat64) {
      tensor.span<double>()[static_cast<std::size_t>(i)] = static_cast<double>(value);
    } else {
      tensor.span<float>()[static_cast<std::size_t>(i)] = value;
    }
  }
  return tensor;
}

/// Token ids in [0, bound).
inline Tensor random_tokens(const Shape& shape, std::int32_t bound, std::uint64_t seed) {
  Tensor tensor = Tensor::empty(shape, DType::kInt32);
  PhiloxSequence words(seed);
  for (std::int32_t& token : tensor.span<std::int32_t>()) {
    token = static_cast<std::int32_t>(words.next_below(static_cast<std::uint64_t>(bound)));
  }
  return tensor;
}

/// A loss under which every element of `output` has a gradient of its own.
inline autograd::Variable any_loss(const autograd::Variable& output) {
  const Tensor& value = output.value();
  return autograd::mse_loss(output, random_tensor(value.shape(), 99, value.dtype()).to(value.device()));
}

/// The elements of a float32 or float64 tensor, wherever it is.
inline std::vector<double> elements_of(const Tensor& tensor) {
  const Tensor host = tensor.to(Device{});
  if (host.dtype() == DType::kFloat64) return {host.span<double>().begin(), host.span<double>().end()};
  return {host.span<float>().begin(), host.span<float>().end()};
}

/// The largest |a - b|; infinity if the sizes differ or a comparison meets NaN.
inline double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    if (!(difference <= largest)) largest = std::isnan(difference) ? INFINITY : difference;
  }
  return largest;
}

/// A float64 parameter with random elements.
inline autograd::Variable random_parameter(const Shape& shape, std::uint64_t seed, const std::string& name = "p") {
  return autograd::Variable::parameter(random_tensor(shape, seed), name);
}

/// The first element of any parameter whose gradient is not the slope of `loss`, in words; empty if all agree.
///
/// A central difference with step h = 1e-5 errs by h^2/6 times the third derivative, and by 1e-16 / h in rounding:
/// about 1e-10 for losses around 1. 1e-7 leaves room for derivatives up to 1000 and catches any wrong formula.
/// @param at_most_per_parameter  Elements checked of each parameter, evenly spread.
[[nodiscard]] inline std::string gradient_mismatch(const std::vector<autograd::Variable>& parameters,
                                                   const std::function<autograd::Variable()>& loss,
                                                   std::int64_t at_most_per_parameter = 1000, double tolerance = 1e-7) {
  constexpr double kStep = 1e-5;
  for (const auto& parameter : parameters) parameter.zero_grad();
  loss().backward();
  const autograd::NoGradGuard no_grad;
  for (const auto& parameter : parameters) {
    if (!parameter.has_gradient()) return concat(parameter.name(), " has no gradient");
    const std::span<double> values = parameter.value().span<double>();
    const std::span<double> gradients = parameter.gradient().span<double>();
    const std::size_t stride =
        std::max<std::size_t>(1, values.size() / static_cast<std::size_t>(at_most_per_parameter));
    for (std::size_t i = 0; i < values.size(); i += stride) {
      const double value = values[i];
      values[i] = value + kStep;
      const double above = loss().value().item();
      values[i] = value - kStep;
      const double below = loss().value().item();
      values[i] = value;
      const double slope = (above - below) / (2 * kStep);
      const bool agrees = std::abs(gradients[i] - slope) <= tolerance * std::max(1.0, std::abs(slope));
      if (!agrees) return concat(parameter.name(), "[", i, "]: gradient ", gradients[i], ", slope ", slope);
    }
  }
  return "";
}

}  // namespace lockstep::test
