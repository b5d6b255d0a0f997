#pragma once
/// @file
/// The model of exercise 09.5: what a rank trains, and what the judge trains again for all ranks at once.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "09_sharded/5_local_sgd/local_sgd.hpp"

namespace lockstep::exercise {

/// Values that SGD with momentum moves towards targets, which depend on the rank and the step. Everything is a multiple
/// of a small power of two, so that few steps are computed without rounding.
class DriftingModel final : public sharded::LocalModel {
 public:
  DriftingModel(int rank, std::size_t count) : rank_(rank), values_(count), moments_(count) {
    for (std::size_t i = 0; i < count; ++i)
      values_[i] = static_cast<float>((5 * i + 3 * static_cast<std::size_t>(rank)) % 16) / 4.0F;
  }

  [[nodiscard]] std::span<float> values() noexcept override { return values_; }
  [[nodiscard]] std::span<float> moments() noexcept override { return moments_; }
  void step() override {
    ++steps;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const auto target =
          static_cast<float>((7 * i + 11 * static_cast<std::size_t>(rank_) + static_cast<std::size_t>(steps)) % 32);
      moments_[i] = 0.5F * moments_[i] + (values_[i] - target);
      values_[i] -= 0.25F * moments_[i];
    }
  }

  std::int64_t steps = 0;

 private:
  int rank_;
  std::vector<float> values_, moments_;
};

}  // namespace lockstep::exercise
