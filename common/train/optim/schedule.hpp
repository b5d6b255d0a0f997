#pragma once
/// @file
/// Learning rates as functions of the step. Steps count from 0: at(0) is the learning rate of the first update.
///
/// A schedule is a small value with a function at(step); it has no state, so a resumed run needs nothing but the step.
#include <concepts>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace lockstep::optim {

/// What has a learning rate for every step.
template <typename T>
concept LearningRateRule = requires(const T& rule, std::int64_t step) {
  { rule.at(step) } -> std::convertible_to<double>;
};

/// Any of the schedules below, or one of your own, as one type: what options choose and a training loop holds.
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
struct DecayOptions {
  double learning_rate = 0;      ///< At step 0.
  std::int64_t total_steps = 0;  ///< From here on `minimum`. At least 0.
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

/// One schedule after the other, as torch.optim.lr_scheduler.SequentialLR: from each milestone on the next one rules,
/// and counts its own steps from 0.
class Sequential {
 public:
  /// @param schedules   At least one.
  /// @param milestones  One fewer than schedules, rising: the first step of the second schedule, of the third...
  /// @throws ContractError  Other numbers, or milestones that do not rise.
  Sequential(std::vector<Schedule> schedules, std::vector<std::int64_t> milestones);
  /// The learning rate of `step`, which counts from 0.
  [[nodiscard]] double at(std::int64_t step) const;

 private:
  std::vector<Schedule> schedules_;
  std::vector<std::int64_t> milestones_;
};

/// LinearWarmup up to learning_rate, then `decay`, whose step 0 comes right after the warm-up.
/// @param warmup_steps  0: none.
/// @param decay         Begins at learning_rate, usually.
[[nodiscard]] Schedule with_warmup(double learning_rate, std::int64_t warmup_steps, Schedule decay);

}  // namespace lockstep::optim
