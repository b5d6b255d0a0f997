// How ranks with unequal numbers of targets count in a step: each by its targets.
#include <memory>

#include "06_gpt_ddp/distributed_data_parallel.hpp"
#include "06_gpt_ddp/replica_check.hpp"
#include "autograd/functions.hpp"
#include "comm/buffer.hpp"

namespace lockstep::ddp {

void DistributedDataParallel::begin_counted_step(const data::Batch& batch) {
  counts_.own_targets = autograd::target_count(batch.targets);
  counts_.of_all_ranks = std::make_shared<std::array<std::int64_t, 2>>(std::array{counts_.own_targets, batch.size()});
  comm::Buffer counts = comm::host_buffer(std::span(*counts_.of_all_ranks));
  counts.keep_alive = counts_.of_all_ranks;
  counts_.reduction = group_.all_reduce(counts);
}

std::int64_t DistributedDataParallel::targets_of_all_ranks() {
  counts_.reduction.synchronize();
  return counts_.of_all_ranks->at(0);
}

// Not the targets, which a step may have none of although there is data.
std::int64_t DistributedDataParallel::samples_of_all_ranks() {
  counts_.reduction.synchronize();
  return counts_.of_all_ranks->at(1);
}

double DistributedDataParallel::weight() {
  if (!counts_.of_all_ranks) return 1;
  const std::int64_t all_targets = targets_of_all_ranks();
  if (all_targets == 0) return 0;  // a step of samples whose targets are all ignored
  return static_cast<double>(counts_.own_targets * group_.world_size()) / static_cast<double>(all_targets);
}

double DistributedDataParallel::average(double value) {
  const double mean = average_over_ranks(group_, value * weight());
  require_sound_gradients();  // the host has waited for the other ranks' devices
  return mean;
}

}  // namespace lockstep::ddp
