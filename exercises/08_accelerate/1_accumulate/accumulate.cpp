#include "08_accelerate/1_accumulate/accumulate.hpp"

namespace lockstep::accelerate {

void GradientAccumulator::accumulate(bool is_last_batch) {
  // TODO(08.1): count the micro-batch, and decide whether the window ends with it
  lockstep::todo("08.1 accumulate");
}

void GradientAccumulator::backward(std::int64_t micro_batch) {
  // TODO(08.1): add this micro-batch's gradient; at the end of the window average over the ranks
  lockstep::todo("08.1 backward");
}

void GradientAccumulator::zero_grad() {
  // TODO(08.1): clear, unless an update still needs the gradients
  lockstep::todo("08.1 zero_grad");
}

void GradientAccumulator::step() {
  // TODO(08.1): update at the end of a window
  lockstep::todo("08.1 step");
}

}  // namespace lockstep::accelerate
