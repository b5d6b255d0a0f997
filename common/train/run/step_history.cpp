#include "run/step_history.hpp"

#include <utility>

namespace lockstep::run {

void StepHistory::add(const StepMetrics& step) {
  if (!steps_.empty()) {
    steps_.back().peak_memory_mib = std::vector<double>();
    if ((added_ - 1) % interval_ != 0) steps_.pop_back();
  }
  if (steps_.size() == most_steps_) drop_every_second();
  steps_.push_back(step);
  steps_.back().sample_ids = std::vector<std::int64_t>();
  ++added_;
  if (recent_.size() == kRecentSteps) recent_.erase(recent_.begin());
  recent_.push_back(steps_.back());
}

void StepHistory::drop_every_second() {
  std::size_t kept = 1;
  for (std::size_t i = 2; i < steps_.size(); i += 2) steps_[kept++] = std::move(steps_[i]);
  steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(kept), steps_.end());
  interval_ *= 2;
}

}  // namespace lockstep::run
