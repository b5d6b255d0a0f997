#include "06_gpt_ddp/ladder/reducer.hpp"

#include <algorithm>

namespace lockstep::ddp {

// Buckets leave in the order of their numbers on every rank, even if a later one is complete first: another rank may
// not have it yet, and would issue its collectives in a different order.
void Reducer::on_gradient_ready(std::size_t parameter) {
  ++ready_count_[bucket_of_[parameter]];
  while (next_to_launch_ < buckets_.size()) {
    if (ready_count_[next_to_launch_] < buckets_[next_to_launch_].size()) return;
    averager_->launch(next_to_launch_++);
  }
}

void Reducer::on_backward_end() {
  while (next_to_launch_ < buckets_.size()) averager_->launch(next_to_launch_++);
  for (std::size_t b = 0; b < buckets_.size(); ++b) averager_->wait(b);
  next_to_launch_ = 0;
  std::ranges::fill(ready_count_, std::size_t{0});
}

}  // namespace lockstep::ddp
