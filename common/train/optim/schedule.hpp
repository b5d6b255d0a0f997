#pragma once
/// @file
/// Learning rates as functions of the step. Steps count from 0: at(0) is the learning rate of the first update.
///
/// A schedule is a small value with a function at(step). It has no state, so a resumed run needs only the step.
#include <concepts>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace lockstep::optim {

/// A type with a learning rate for every step.
template <typename T>
concept LearningRateRule = requires(const T& rule, std::int64_t step) {
  { rule.at(step) } -> std::convertible_to<double>;
};

/// Holds any of the schedules below, or your own, as one type for options and training loops.
class Schedule {
 public:
  /// @param rule  Copied.
  template <LearningRateRule Rule>
  requires(!std::same_as<Rule, Schedule>)
      Schedule(Rule rule)  // NOLINT(google-explicit-constructor): a rule is a schedule
      : at_([rule = std::move(rule)](std::int64_t step) { return rule.at(step); }) {}
  /// The learning rate of `step`, which counts from 0.
  [[nodiscard]] double at(std::int64_t step) const { return at_(step); }

 private:
  std::function<double(std::int64_t)> at_;
};

/// A constant learning rate.
class Constant {
 public:
  explicit Constant(double learning_rate) : learning_rate_(learning_rate) {}
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

/// Options of the decaying schedules.
struct DecayOptions {
  double learning_rate = 0;      ///< At step 0.
  std::int64_t total_steps = 0;  ///< From here on the rate is `minimum`. At least 0.
  double minimum = 0;            ///< At the end.
};

/// A straight line from learning_rate down to minimum, as torch.optim.lr_scheduler.LinearLR.
class LinearDecay {
 public:
  /// @throws ContractError  total_steps is negative.
  explicit LinearDecay(const DecayOptions& options);
  /// The learning rate of `step`, which counts from 0.
  [[nodiscard]] double at(std::int64_t step) const noexcept;

 private:
  DecayOptions options_;
};

/// Half a cosine from learning_rate down to minimum, as torch.optim.lr_scheduler.CosineAnnealingLR up to its end.
/// @source Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", ICLR 2017, equation 5.
class CosineDecay {
 public:
  /// @throws ContractError  total_steps is negative.
  explicit CosineDecay(const DecayOptions& options);
  /// The learning rate of `step`, which counts from 0.
  [[nodiscard]] double at(std::int64_t step) const noexcept;

 private:
  DecayOptions options_;
};

/// One schedule after the other, as torch.optim.lr_scheduler.SequentialLR: each milestone starts the next one, which
/// counts its own steps from 0.
class Sequential {
 public:
  /// @param schedules   At least one.
  /// @param milestones  One fewer than schedules, ascending: the first step of the second schedule, of the third...
  /// @throws ContractError  Wrong number of milestones, or milestones that do not rise.
  Sequential(std::vector<Schedule> schedules, std::vector<std::int64_t> milestones);
  /// The learning rate of `step`, which counts from 0.
  [[nodiscard]] double at(std::int64_t step) const;

 private:
  std::vector<Schedule> schedules_;
  std::vector<std::int64_t> milestones_;
};

/// LinearWarmup up to learning_rate, then `decay`, whose step 0 follows the warm-up.
/// @param warmup_steps  0: none.
/// @param decay         Usually starts at learning_rate.
[[nodiscard]] Schedule with_warmup(double learning_rate, std::int64_t warmup_steps, Schedule decay);

}  // namespace lockstep::optim
