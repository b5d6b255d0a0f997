#include "08_accelerate/prepared/accumulation_scope.hpp"

#include <utility>

#include "08_accelerate/prepared/order_shard.hpp"
#include "base/error.hpp"

namespace lockstep::accelerate {

AccumulationScope::AccumulationScope(GradientState& shared, std::int64_t steps,
                                     std::initializer_list<ddp::DistributedDataParallel*> models) {
  require(!shared.is_joined || steps == 1,
          "accumulate: within join_uneven_inputs() ranks may have different numbers of micro-batches; pass those of a "
          "step together: accumulate(model, parts)");
  if (shared.sync_gradients) {  // still the previous micro-batch's value: this one begins a step
    shared.micro_batches = 0;
    shared.has_accumulated = false;
    for (ddp::DistributedDataParallel* const model : models) model->broadcast_buffers();
  }
  shared.is_backward_done = false;
  const OrderShard* const active = shared.active();
  const bool is_last_batch = active != nullptr && active->is_at_end();
  shared.sync_gradients = ++shared.micro_batches >= steps || is_last_batch;
  if (shared.sync_gradients) return;
  for (ddp::DistributedDataParallel* const model : models) no_sync_.emplace_back(*model);
}

UnevenInputs::UnevenInputs(GradientState& shared, ddp::DistributedDataParallel& ddp, AcceleratedLoader loader)
    : shared_(shared), loader_(std::move(loader)), batches_(ddp.join(loader_.loader())) {}

UnevenInputs::~UnevenInputs() { leave(); }

// A joined loop may contain another one, such as an evaluation; afterwards the outer loop continues, still joined.
UnevenInputs::Iterator UnevenInputs::begin() {
  leave();
  was_joined_ = std::exchange(shared_.is_joined, true);
  try {
    Iterator first(*this, batches_.begin());
    iteration_ = loader_.shard().iteration();
    arrive(first.joined_);
    return first;
  } catch (...) {
    iteration_ = loader_.shard().iteration();
    leave();
    throw;
  }
}

// Low ranks have at most one batch more than others; it counts on all ranks.
void UnevenInputs::arrive(const ddp::JoinedBatches::Iterator& joined) {
  if (joined == std::default_sentinel) return leave();
  if ((*joined).size() == 0) loader_.shard().advance(0);
}

void UnevenInputs::leave() noexcept {
  loader_.shard().end_iteration(std::exchange(iteration_, 0));
  if (was_joined_) shared_.is_joined = *std::exchange(was_joined_, std::nullopt);
}

}  // namespace lockstep::accelerate
