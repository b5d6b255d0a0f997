#include "09_sharded/shard/evaluation_batches.hpp"

#include <exception>
#include <span>

namespace lockstep::sharded {

EvaluationBatches::~EvaluationBatches() {
  if (window_ == nullptr || !iterator_) return;
  try {
    window_->end_pass();
  } catch (const std::exception&) {  // the group has failed, and says so to its next caller
  }
}

EvaluationBatches::Iterator EvaluationBatches::begin() {
  iterator_.emplace(loader_.begin());
  begin_passes();
  return Iterator(*this);
}

void EvaluationBatches::advance() {
  ++*iterator_;
  begin_passes();
}

// Returns with a pass begun for this rank's batch, or when no rank has one.
void EvaluationBatches::begin_passes() {
  while (window_ != nullptr) {
    window_->end_guidance();  // of the last pass
    double ranks_with_data = has_data() ? 1 : 0;
    group_.all_reduce(comm::host_buffer(std::span(&ranks_with_data, 1))).synchronize();
    if (ranks_with_data == 0) return;
    window_->begin_pass(Pass::kEvaluation);
    if (ranks_with_data < group_.world_size() && !window_->knows_pass()) window_->guide_pass(has_data());
    if (has_data()) return;
    window_->replay([](std::size_t /*unit*/) {});
  }
}

}  // namespace lockstep::sharded
