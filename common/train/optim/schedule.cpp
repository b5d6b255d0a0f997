#include "optim/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.hpp"

namespace lockstep::optim {
namespace {

// The fraction of a decay that is done at `step`, in [0, 1].
double progress_of(std::int64_t step, std::int64_t total_steps) noexcept {
  if (step >= total_steps) return 1;  // also if there are no steps
  return static_cast<double>(step) / static_cast<double>(total_steps);
}

}  // namespace

double LinearWarmup::at(std::int64_t step) const noexcept {
  if (step >= warmup_steps_) return learning_rate_;
  return learning_rate_ * static_cast<double>(step + 1) / static_cast<double>(warmup_steps_);
}

LinearDecay::LinearDecay(const DecayOptions& options) : options_(options) {
  require(options.total_steps >= 0, "optim: a decay over ", options.total_steps, " steps");
}

double LinearDecay::at(std::int64_t step) const noexcept {
  const auto& [learning_rate, total_steps, minimum] = options_;
  const double progress = progress_of(step, total_steps);
  return learning_rate * (1 - progress) + minimum * progress;
}

CosineDecay::CosineDecay(const DecayOptions& options) : options_(options) {
  require(options.total_steps >= 0, "optim: a decay over ", options.total_steps, " steps");
}

double CosineDecay::at(std::int64_t step) const noexcept {
  const auto& [learning_rate, total_steps, minimum] = options_;
  if (step >= total_steps) return minimum;
  const double progress = progress_of(step, total_steps);
  return minimum + (learning_rate - minimum) * (1 + std::cos(std::numbers::pi * progress)) / 2;
}

Sequential::Sequential(std::vector<Schedule> schedules, std::vector<std::int64_t> milestones)
    : schedules_(std::move(schedules)), milestones_(std::move(milestones)) {
  require(schedules_.size() == milestones_.size() + 1, "optim: ", schedules_.size(), " schedules need one milestone ",
          "fewer, not ", milestones_.size());
  require(std::ranges::is_sorted(milestones_), "optim: the milestones of a sequential schedule do not rise");
}

double Sequential::at(std::int64_t step) const {
  const auto next = std::ranges::upper_bound(milestones_, step);
  const std::int64_t begin = next == milestones_.begin() ? 0 : *(next - 1);
  return schedules_[static_cast<std::size_t>(next - milestones_.begin())].at(step - begin);
}

Schedule with_warmup(double learning_rate, std::int64_t warmup_steps, Schedule decay) {
  require(warmup_steps >= 0, "optim: a warm-up of ", warmup_steps, " steps");
  return Sequential({LinearWarmup(learning_rate, warmup_steps), std::move(decay)}, {warmup_steps});
}

}  // namespace lockstep::optim
