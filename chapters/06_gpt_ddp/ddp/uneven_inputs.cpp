// How ranks with unequal numbers of tokens count in a step: each by its tokens.
#include <memory>

#include "06_gpt_ddp/distributed_data_parallel.hpp"
#include "06_gpt_ddp/replica_check.hpp"
#include "comm/buffer.hpp"

namespace lockstep::ddp {

void DistributedDataParallel::begin_counted_step(std::int64_t tokens) {
  own_tokens_ = tokens;
  all_tokens_ = std::make_shared<std::int64_t>(tokens);
  comm::Buffer count = comm::host_buffer(std::span(all_tokens_.get(), 1));
  count.keep_alive = all_tokens_;
  counting_ = group_.all_reduce(count);
}

std::int64_t DistributedDataParallel::tokens_of_all_ranks() {
  counting_.synchronize();
  return *all_tokens_;
}

double DistributedDataParallel::weight() {
  if (!all_tokens_) return 1;
  return static_cast<double>(own_tokens_ * group_.world_size()) / static_cast<double>(tokens_of_all_ranks());
}

double DistributedDataParallel::average(double value) { return average_over_ranks(group_, value * weight()); }

}  // namespace lockstep::ddp
