#include "optim/schedule.hpp"

#include <cmath>
#include <numbers>

#include "base/error.hpp"

namespace lockstep::optim {

double LinearWarmup::at(std::int64_t step) const noexcept {
  if (step >= warmup_steps_) return learning_rate_;
  return learning_rate_ * static_cast<double>(step + 1) / static_cast<double>(warmup_steps_);
}

CosineWithWarmup::CosineWithWarmup(const CosineOptions& options) : options_(options) {
  require(options.warmup_steps >= 0 && options.warmup_steps <= options.total_steps, "optim: a warm-up of ",
          options.warmup_steps, " steps does not fit into ", options.total_steps);
}

double CosineWithWarmup::at(std::int64_t step) const noexcept {
  const auto& [learning_rate, warmup_steps, total_steps, minimum] = options_;
  if (step < warmup_steps) return LinearWarmup(learning_rate, warmup_steps).at(step);
  if (step >= total_steps) return minimum;
  const double progress = static_cast<double>(step - warmup_steps) / static_cast<double>(total_steps - warmup_steps);
  return minimum + (learning_rate - minimum) * (1 + std::cos(std::numbers::pi * progress)) / 2;
}

}  // namespace lockstep::optim
