#include "06_gpt_ddp/ddp/bucket_exchange.hpp"

#include "kernels/ops.hpp"

namespace lockstep::ddp {

// Weighting turns the mean over ranks into a mean over targets if ranks have unequal numbers of them.
void BucketExchange::launch(std::size_t bucket_index) {
  const Bucket& bucket = buckets_.all()[bucket_index];
  audit_.prepare(bucket);
  if (const double own_weight = targets_.weight(); own_weight != 1) kernels::scale(bucket.gradients, own_weight);
  works_.push_back(hook_(group_, bucket));
}

void BucketExchange::wait(std::size_t bucket_index) {
  if (audit_.is_on_host()) std::exchange(works_[bucket_index], {}).synchronize();
}

}  // namespace lockstep::ddp
