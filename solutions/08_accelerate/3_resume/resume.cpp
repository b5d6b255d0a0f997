#include "08_accelerate/3_resume/resume.hpp"

namespace lockstep::accelerate {

std::vector<std::int64_t> ResumableShard::begin_iteration() {
  // SOLUTION(08.3) begin_iteration: find what is left of the epoch, or of the next one, and deal it
  std::vector<std::int64_t> order = order_of_epoch_(state_.epoch);
  if (std::ssize(order) - state_.consumed < total_batch_size_) {
    state_ = {.epoch = state_.epoch + 1, .consumed = 0};
    order = order_of_epoch_(state_.epoch);
  }
  const std::int64_t batches = (std::ssize(order) - state_.consumed) / total_batch_size_;
  const std::int64_t end = state_.consumed + batches * total_batch_size_;
  std::vector<std::int64_t> own;
  // Dealt from the first sample that is left, whichever rank would have had it in the run before.
  for (std::int64_t position = state_.consumed + rank_; position < end; position += world_size_)
    own.push_back(order[static_cast<std::size_t>(position)]);
  return own;
  // END SOLUTION
}

void ResumableShard::advance() {
  // SOLUTION(08.3) advance: count the samples of all ranks
  state_.consumed += total_batch_size_;
  // END SOLUTION
}

void ResumableShard::skip_first_batches(std::int64_t batches) {
  // SOLUTION(08.3) skip_first_batches: choose the position within the epoch
  state_.consumed = batches * total_batch_size_;
  // END SOLUTION
}

}  // namespace lockstep::accelerate
