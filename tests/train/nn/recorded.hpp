#pragma once
/// @file
/// Values that PyTorch computed, and models with the same parameters. Private to these tests.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "base/file.hpp"
#include "base/json.hpp"
#include "nn/module.hpp"
#include "support/catch.hpp"

namespace lockstep::test {

/// A recording in a file of this folder, or of LOCKSTEP_TEST_RECORDS where the test was carried to another machine.
inline nlohmann::json recorded(const std::string& file) {
  const char* const carried = std::getenv("LOCKSTEP_TEST_RECORDS");
  return parse_json(read_file(std::string(carried ? carried : LOCKSTEP_SOURCE_DIR "/tests/train/nn") + "/" + file));
}

/// Element i is formula(i).
template <typename T, typename Formula>
Tensor from_formula(const Shape& shape, const Formula& formula) {
  Tensor tensor = Tensor::empty(shape, dtype_of<T>);
  for (std::int64_t i = 0; i < tensor.count(); ++i)
    tensor.span<T>()[static_cast<std::size_t>(i)] = static_cast<T>(formula(i));
  return tensor;
}

inline double element(const Tensor& tensor, std::size_t index) {
  return tensor.dtype() == DType::kFloat64 ? tensor.span<double>()[index]
                                           : static_cast<double>(tensor.span<float>()[index]);
}

/// The recorder's parameters: a formula of (parameter number, element).
inline void set_parameters(const nn::Module& module) {
  int number = 0;
  for (const nn::NamedParameter& named : module.named_parameters()) {
    const auto formula = [number](std::int64_t i) {
      return 0.5 * std::sin(1.0 + 0.7 * number + 1.3 * static_cast<double>(i));
    };
    const Tensor& value = named.parameter.value();
    value.copy_from(value.dtype() == DType::kFloat64 ? from_formula<double>(value.shape(), formula)
                                                     : from_formula<float>(value.shape(), formula));
    ++number;
  }
}

/// The largest difference, relative to the largest recorded element (or 1e-3, for gradients that are all tiny).
inline double difference(const Tensor& ours, const nlohmann::json& theirs) {
  REQUIRE(static_cast<std::size_t>(ours.count()) == theirs.size());
  double largest_difference = 0, largest = 1e-3;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const auto expected = theirs[i].get<double>();
    largest_difference = std::max(largest_difference, std::abs(element(ours, i) - expected));
    largest = std::max(largest, std::abs(expected));
  }
  return largest_difference / largest;
}

inline void check_gradients(const nn::Module& module, const nlohmann::json& gradients, double tolerance) {
  CHECK(module.named_parameters().size() == gradients.size());
  for (const nn::NamedParameter& named : module.named_parameters()) {
    INFO(named.name);
    CHECK(difference(named.parameter.gradient(), gradients.at(named.name)) < tolerance);
  }
}

}  // namespace lockstep::test
