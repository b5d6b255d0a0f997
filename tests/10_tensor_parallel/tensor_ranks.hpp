#pragma once
/// @file
/// Threads as tensor-parallel ranks, and comparisons of their parts with a whole.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "02_ring_all_reduce/shared_memory/shared_memory_process_group.hpp"
#include "10_tensor_parallel/parallel_functions.hpp"
#include "base/philox.hpp"
#include "nn/module.hpp"
#include "support/collective_count.hpp"
#include "support/run_ranks.hpp"

namespace lockstep::test {

using autograd::Variable;
using tensor_parallel::Group;

/// The results of `body` on each of `world_size` ranks.
template <typename T>
std::vector<T> on_tensor_ranks(int world_size, const std::function<T(Group&)>& body) {
  return run_ranks_for<T>(world_size, [&](comm::JobContext job) {
    const auto group = ring::make_shared_memory_process_group(std::move(job));
    return body(*group);
  });
}

/// Standard normal elements in float64, the same on every rank.
inline Tensor normal_tensor(const Shape& shape, std::uint64_t seed, double deviation = 1) {
  Tensor tensor = Tensor::empty(shape, DType::kFloat64);
  PhiloxSequence words(seed);
  for (double& element : tensor.span<double>()) {
    const std::uint32_t word0 = words.next_word(), word1 = words.next_word();
    element = deviation * static_cast<double>(normal_floats(word0, word1)[0]);
  }
  return tensor;
}

/// Token ids in [0, bound).
inline Tensor random_tokens(const Shape& shape, std::int64_t bound, std::uint64_t seed) {
  Tensor tensor = Tensor::empty(shape, DType::kInt32);
  PhiloxSequence words(seed);
  for (std::int32_t& token : tensor.span<std::int32_t>())
    token = static_cast<std::int32_t>(words.next_below(static_cast<std::uint64_t>(bound)));
  return tensor;
}

/// float32 or float64 elements.
inline std::vector<double> doubles(const Tensor& tensor) {
  if (tensor.dtype() == DType::kFloat64) return {tensor.span<double>().begin(), tensor.span<double>().end()};
  return {tensor.span<float>().begin(), tensor.span<float>().end()};
}

/// The largest difference of elements [begin, begin + count) of `whole` from those of `part`, relative above 1;
/// infinite if one is not a number.
inline double difference(const Tensor& part, const Tensor& whole, std::int64_t begin = 0) {
  const std::vector<double> own = doubles(part), all = doubles(whole);
  double largest = 0;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const double expected = all[static_cast<std::size_t>(begin) + i];
    const double found = std::abs(own[i] - expected) / std::max(1.0, std::abs(expected));
    largest = std::isnan(found) ? INFINITY : std::max(largest, found);
  }
  return largest;
}

/// The same for the elements of a slice.
inline double difference(const Tensor& part, const Tensor& whole, const Slice& slice) {
  double largest = 0;
  std::int64_t place = 0;
  const Tensor flat = part.reshape({part.count()});
  slice.for_each_run([&](Range run) {
    largest = std::max(largest, difference(flat.rows(place, place + run.count()), whole, run.begin));
    place += run.count();
  });
  return largest;
}

/// Of the gradients of a module's parameters from those of the whole module; infinite if one is missing.
inline double gradient_difference(const nn::Module& part, const nn::Module& whole) {
  std::map<std::string, Variable> all;
  for (const nn::NamedParameter& named : whole.named_parameters()) all.emplace(named.name, named.parameter);
  double largest = 0;
  for (const nn::NamedParameter& named : part.named_parameters()) {
    if (!named.parameter.has_gradient()) return INFINITY;
    largest = std::max(largest, difference(named.parameter.gradient(), all.at(named.name).gradient(), named.slice));
  }
  return largest;
}

}  // namespace lockstep::test
