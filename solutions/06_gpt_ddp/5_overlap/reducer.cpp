#include "06_gpt_ddp/5_overlap/reducer.hpp"

#include <algorithm>

namespace lockstep::ddp {

void Reducer::on_gradient_ready(std::size_t parameter) {
  // SOLUTION(06.5) on_gradient_ready: count the gradient, then launch the buckets that can leave, in their order
  ++ready_count_[bucket_of_[parameter]];
  while (next_to_launch_ < buckets_.size()) {
    // A bucket behind this one may be complete already. It waits: another rank may not have it yet, and would issue its
    // collectives in another order.
    if (ready_count_[next_to_launch_] < buckets_[next_to_launch_].size()) return;
    averager_->launch(next_to_launch_);
    ++next_to_launch_;
  }
  // END SOLUTION
}

void Reducer::on_backward_end() {
  // SOLUTION(06.5) on_backward_end: launch the rest, wait for all buckets, prepare the next step
  while (next_to_launch_ < buckets_.size()) averager_->launch(next_to_launch_++);
  for (std::size_t b = 0; b < buckets_.size(); ++b) averager_->wait(b);
  next_to_launch_ = 0;
  std::ranges::fill(ready_count_, std::size_t{0});
  // END SOLUTION
}

}  // namespace lockstep::ddp
