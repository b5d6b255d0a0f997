#pragma once
/// @file
/// An optimizer and a schedule that act only at the end of a step's micro-batches.
#include <cstdint>
#include <memory>
#include <utility>

#include "08_accelerate/prepared/gradient_state.hpp"
#include "08_accelerate/tracking/profile.hpp"
#include "optim/grad_scaler.hpp"
#include "optim/optimizer.hpp"
#include "optim/schedule.hpp"

namespace lockstep::accelerate {

/// prepare()'s handle for an optimizer. A loop calls step() and zero_grad() for every micro-batch. step() acts only at
/// the last one of a step, zero_grad() only before a step's first backward and after its last. Copies share one
/// optimizer. Lifetime: must end before the optimizer's.
class AcceleratedOptimizer {
 public:
  /// @param optimizer  Outlives this object. @param shared  The accelerator's.
  AcceleratedOptimizer(optim::Optimizer& optimizer, std::shared_ptr<GradientState> shared) noexcept
      : optimizer_(&optimizer), shared_(std::move(shared)) {}

  /// Updates the parameters if this micro-batch is the last of its step; with a gradient scaler, unless a gradient is
  /// infinite or NaN on some rank. @param learning_rate  Of this update.
  /// @throws ContractError  As optim::GradScaler::step(), if the accelerator has one.
  void step(double learning_rate) {
    if (!shared_->sync_gradients) return;
    {
      const auto span = Profile::span(shared_->profile, "optimizer.step", trace::Category::kOptimizer);
      update(learning_rate);
    }
    if (shared_->profile != nullptr) shared_->profile->leave_step();
  }
  /// Whether the last step() was skipped because a gradient was infinite or NaN.
  [[nodiscard]] bool step_was_skipped() const { return shared_->skipped.contains(optimizer_); }
  /// Marks every gradient as unwritten, except between the micro-batches of a step. May be called at the beginning or
  /// at the end of the loop's body.
  void zero_grad() {
    if (shared_->may_clear()) optimizer_->zero_grad();
  }

  /// The original optimizer, for checkpoints.
  [[nodiscard]] optim::Optimizer& optimizer() const noexcept { return *optimizer_; }
  /// Lets functions that take an optimizer accept this one.
  operator optim::Optimizer&() const noexcept { return *optimizer_; }  // NOLINT(google-explicit-constructor)

 private:
  void update(double learning_rate) {
    if (shared_->scaler == nullptr) return optimizer_->step(learning_rate);
    const bool is_taken = shared_->scaler->step(*optimizer_, learning_rate);
    shared_->is_scale_due = true;
    if (is_taken) {
      shared_->skipped.erase(optimizer_);
    } else {
      shared_->skipped.insert(optimizer_);
    }
  }

  optim::Optimizer* optimizer_;
  std::shared_ptr<GradientState> shared_;
};

/// prepare()'s handle for a schedule: the schedule and its position, in updates. (Accelerate advances by the number of
/// processes per step, for schedules written for one process; here schedules count updates.) Copies share one position.
class AcceleratedScheduler {
 public:
  /// @param schedule  Copied. @param shared  The accelerator's.
  AcceleratedScheduler(optim::Schedule schedule, std::shared_ptr<const GradientState> shared)
      : schedule_(std::move(schedule)), shared_(std::move(shared)) {}

  /// The learning rate of the next update.
  [[nodiscard]] double get_last_lr() const { return schedule_.at(*updates_); }
  /// Goes to the next learning rate if this micro-batch is the last of its step, and no optimizer skipped its update.
  void step() {
    if (shared_->sync_gradients && shared_->skipped.empty()) ++*updates_;
  }
  /// Number of updates so far; shared by all copies, for saving and loading.
  [[nodiscard]] const std::shared_ptr<std::int64_t>& updates() const noexcept { return updates_; }

 private:
  optim::Schedule schedule_;
  std::shared_ptr<const GradientState> shared_;
  std::shared_ptr<std::int64_t> updates_ = std::make_shared<std::int64_t>(0);
};

}  // namespace lockstep::accelerate
