#pragma once
/// @file
/// The training run of exercise 09.2. A rank's loss is half the squared distance from all values to its own targets.
#include <cstdint>
#include <span>
#include <vector>

#include "09_sharded/2_stage_one/sharded_step.hpp"

namespace lockstep::exercise {

struct ToyTraining {
  std::vector<std::int64_t> counts;  ///< Elements of each bucket; multiples of `ranks`.
  int ranks = 1;
  int steps = 1;
  double max_norm = 1e9;
};

using Block = std::vector<float>;
using Blocks = std::vector<Block>;  // by bucket

/// Multiples of 1/8, so that the first step is computed without rounding.
[[nodiscard]] inline float first_value(std::size_t bucket, std::size_t i) {
  return static_cast<float>((7 * i + 3 * bucket) % 16) / 8.0F - 1.0F;
}
[[nodiscard]] inline float toy_target(int rank, int step, std::size_t bucket, std::size_t i) {
  return static_cast<float>(
             (5 * i + 11 * static_cast<std::size_t>(rank) + 7 * static_cast<std::size_t>(step) + 13 * bucket) % 32) /
             8.0F -
         2.0F;
}

[[nodiscard]] inline Blocks first_values(const ToyTraining& training) {
  Blocks values;
  for (std::size_t b = 0; b < training.counts.size(); ++b) {
    values.emplace_back(static_cast<std::size_t>(training.counts[b]));
    for (std::size_t i = 0; i < values[b].size(); ++i) values[b][i] = first_value(b, i);
  }
  return values;
}

/// Gradient of one rank's loss with respect to a bucket.
inline void fill_gradient(int rank, int step, std::size_t bucket, std::span<const float> values,
                          std::span<float> gradient) {
  for (std::size_t i = 0; i < values.size(); ++i) gradient[i] = values[i] - toy_target(rank, step, bucket, i);
}

/// One rank's loss.
[[nodiscard]] inline double loss_of(int rank, int step, const Blocks& values) {
  double loss = 0;
  for (std::size_t b = 0; b < values.size(); ++b) {
    for (std::size_t i = 0; i < values[b].size(); ++i) {
      const double distance = static_cast<double>(values[b][i]) - static_cast<double>(toy_target(rank, step, b, i));
      loss += 0.5 * distance * distance;
    }
  }
  return loss;
}

/// SGD with momentum, on any range of elements.
inline void momentum_update(std::span<float> values, std::span<const float> gradients, std::span<float> moments) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    moments[i] = 0.5F * moments[i] + gradients[i];
    values[i] -= 0.25F * moments[i];
  }
}

}  // namespace lockstep::exercise
