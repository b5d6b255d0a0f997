#include "08_accelerate/1_accumulate/accumulate.hpp"

namespace lockstep::accelerate {

void GradientAccumulator::accumulate(bool is_last_batch) {
  // SOLUTION(08.1) accumulate: count the micro-batch, and decide whether the window ends with it
  if (sync_gradients_) micro_batches_ = 0;  // the window before has ended
  ++micro_batches_;
  sync_gradients_ = micro_batches_ == steps_ || is_last_batch;
  // END SOLUTION
}

void GradientAccumulator::backward(std::int64_t micro_batch) {
  // SOLUTION(08.1) backward: add this micro-batch's gradient; at the end of the window average over the ranks
  replica_.backward(micro_batch, 1.0 / static_cast<double>(steps_));
  is_update_due_ = true;
  if (!sync_gradients_) return;
  group_.all_reduce(replica_.gradient()).synchronize();
  for (float& value : replica_.gradient()) value /= static_cast<float>(group_.world_size());
  // END SOLUTION
}

void GradientAccumulator::zero_grad() {
  // SOLUTION(08.1) zero_grad: clear, unless an update still needs the gradients
  if (!is_update_due_) replica_.zero_grad();
  // END SOLUTION
}

void GradientAccumulator::step() {
  // SOLUTION(08.1) step: update at the end of a window
  if (!sync_gradients_) return;
  replica_.step();
  is_update_due_ = false;
  // END SOLUTION
}

}  // namespace lockstep::accelerate
