#include "exercise/alternatives.hpp"

#include "08_accelerate/1_accumulate/accumulate.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"clears_in_step", "the gradients are cleared by step() already, right after the update"},
    {"divides_weight",
     "the weight contains the number of ranks, so that the sum is the mean; the micro-batches are counted down"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::accelerate {

using exercise::is_alternative;

void GradientAccumulator::accumulate(bool is_last_batch) {
  if (is_alternative("divides_weight")) {
    if (micro_batches_ == 0) micro_batches_ = steps_;
    --micro_batches_;
    sync_gradients_ = is_last_batch || micro_batches_ == 0;
    if (is_last_batch) micro_batches_ = 0;
    return;
  }
  micro_batches_ = sync_gradients_ ? 1 : micro_batches_ + 1;
  sync_gradients_ = is_last_batch || micro_batches_ >= steps_;
}

void GradientAccumulator::backward(std::int64_t micro_batch) {
  const double ranks = group_.world_size(), divisor = is_alternative("divides_weight") ? ranks : 1;
  replica_.backward(micro_batch, 1 / (static_cast<double>(steps_) * divisor));
  is_update_due_ = true;
  if (!sync_gradients_) return;
  group_.all_reduce(replica_.gradient()).synchronize();
  for (float& value : replica_.gradient()) value = static_cast<float>(value / ranks * divisor);
}

void GradientAccumulator::zero_grad() {
  if (!is_update_due_) replica_.zero_grad();
}

void GradientAccumulator::step() {
  if (!sync_gradients_) return;
  replica_.step();
  is_update_due_ = false;
  if (is_alternative("clears_in_step")) replica_.zero_grad();
}

}  // namespace lockstep::accelerate
