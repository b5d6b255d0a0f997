#include "09_sharded/2_stage_one/sharded_step.hpp"

#include <cmath>

namespace lockstep::sharded {

void ShardedStep::launch(std::size_t bucket) {
  // SOLUTION(09.2) launch: issue the reduce-scatter of the bucket's gradients into this rank's part
  const std::span<float> gradients = buckets_[bucket].gradients;
  works_[bucket] = group_.reduce_scatter(own_part(gradients), gradients, ReduceOp::kMean);
  // END SOLUTION
}

void ShardedStep::wait(std::size_t bucket) {
  // SOLUTION(09.2) wait: wait for what launch() has issued
  works_[bucket].synchronize();
  // END SOLUTION
}

double ShardedStep::finish(double max_norm) {
  // SOLUTION(09.2) finish: the norm over all ranks, clipping, the update of this rank's parts, the all-gather of values
  double squares = 0;
  for (const Bucket& bucket : buckets_) {
    for (const float gradient : own_part(bucket.gradients))
      squares += static_cast<double>(gradient) * static_cast<double>(gradient);
  }
  group_.all_reduce(std::span(&squares, 1)).synchronize();
  const double norm = std::sqrt(squares);
  const float factor = clip_factor(norm, max_norm);
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    const std::span<float> values = own_part(buckets_[b].values);
    const std::span<float> gradients = own_part(buckets_[b].gradients);
    for (float& gradient : gradients) gradient *= factor;
    optimizer_.update(b, values, gradients);
    // The values of this bucket are final, so its second half leaves while the next one is updated.
    works_[b] = group_.all_gather(buckets_[b].values, values);
  }
  for (Work& work : works_) work.synchronize();
  return norm;
  // END SOLUTION
}

}  // namespace lockstep::sharded
