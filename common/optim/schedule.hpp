#pragma once
/// @file
/// Learning rates as functions of the step. Steps count from 0: at(0) is the learning rate of the first update.
#include <cstdint>

namespace lockstep::optim {

/// The same learning rate always.
class Constant {
 public:
  /// @param learning_rate  At every step.
  explicit Constant(double learning_rate) : learning_rate_(learning_rate) {}
  /// The learning rate, whatever the step.
  [[nodiscard]] double at(std::int64_t) const noexcept { return learning_rate_; }

 private:
  double learning_rate_;
};

/// learning_rate * (step + 1) / warmup_steps, then constant.
class LinearWarmup {
 public:
  /// @param warmup_steps  0: none.
  LinearWarmup(double learning_rate, std::int64_t warmup_steps)
      : learning_rate_(learning_rate), warmup_steps_(warmup_steps) {}
  /// The learning rate of `step`, which counts from 0.
  [[nodiscard]] double at(std::int64_t step) const noexcept;

 private:
  double learning_rate_;
  std::int64_t warmup_steps_;
};

/// How high, how long and how low.
struct CosineOptions {
  double learning_rate = 0;       ///< At the end of the warm-up.
  std::int64_t warmup_steps = 0;  ///< 0: none.
  std::int64_t total_steps = 0;   ///< Warm-up included; from here on `minimum`.
  double minimum = 0;             ///< At the end.
};

/// Linear warm-up, then half a cosine from learning_rate down to minimum, reached at step total_steps.
/// @source Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", ICLR 2017, equation 5.
class CosineWithWarmup {
 public:
  /// @throws ContractError  warmup_steps is negative or more than total_steps.
  explicit CosineWithWarmup(const CosineOptions& options);
  /// The learning rate of `step`, which counts from 0.
  [[nodiscard]] double at(std::int64_t step) const noexcept;

 private:
  CosineOptions options_;
};

}  // namespace lockstep::optim
