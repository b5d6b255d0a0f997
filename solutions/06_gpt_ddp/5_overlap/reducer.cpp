#include "06_gpt_ddp/5_overlap/reducer.hpp"

#include <algorithm>

namespace lockstep::ddp {

void Reducer::on_gradient_ready(std::size_t parameter) {
  // SOLUTION(06.5) on_gradient_ready: count the gradient, then launch the buckets that can leave, in their order
  ++ready_count_[bucket_of_[parameter]];
  while (next_to_launch_ < buckets_.size()) {
    const GradientBucket& bucket = buckets_[next_to_launch_];
    // A bucket behind this one may be complete already. It waits: another rank may not have it yet, and would issue its
    // collectives in another order.
    if (ready_count_[next_to_launch_] < bucket.parameters.size()) return;
    in_flight_.push_back(group_.all_reduce(bucket.gradients));
    ++next_to_launch_;
  }
  // END SOLUTION
}

void Reducer::on_backward_end() {
  // SOLUTION(06.5) on_backward_end: launch the rest, wait for all buckets, make means of the sums, prepare the next
  // step
  while (next_to_launch_ < buckets_.size())
    in_flight_.push_back(group_.all_reduce(buckets_[next_to_launch_++].gradients));
  const auto ranks = static_cast<float>(group_.world_size());
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    in_flight_[b].synchronize();
    for (float& value : buckets_[b].gradients) value /= ranks;
  }
  in_flight_.clear();
  next_to_launch_ = 0;
  std::ranges::fill(ready_count_, std::size_t{0});
  // END SOLUTION
}

}  // namespace lockstep::ddp
