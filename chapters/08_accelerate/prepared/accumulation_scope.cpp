#include "08_accelerate/prepared/accumulation_scope.hpp"

#include "08_accelerate/prepared/order_shard.hpp"
#include "base/error.hpp"

namespace lockstep::accelerate {

AccumulationScope::AccumulationScope(GradientState& shared, std::int64_t steps,
                                     std::initializer_list<ddp::DistributedDataParallel*> models) {
  require(!shared.is_joined || steps == 1,
          "accumulate: within join_uneven_inputs() ranks may have different numbers of micro-batches; pass those of a "
          "step together: accumulate(model, parts)");
  if (shared.sync_gradients) {  // of the micro-batch before: this one begins a step
    shared.micro_batches = 0;
    shared.has_accumulated = false;
    for (ddp::DistributedDataParallel* const model : models) model->broadcast_buffers();
  }
  shared.is_backward_done = false;
  const bool is_last_batch = shared.active != nullptr && shared.active->is_at_end();
  shared.sync_gradients = ++shared.micro_batches >= steps || is_last_batch;
  if (shared.sync_gradients) return;
  for (ddp::DistributedDataParallel* const model : models) no_sync_.emplace_back(*model);
}

}  // namespace lockstep::accelerate
