#include "06_gpt_ddp/4_buckets/buckets.hpp"

#include <algorithm>

namespace lockstep::ddp {

std::vector<BucketLayout> lay_out_buckets(std::span<const std::int64_t> counts, const BucketSizes& sizes) {
  // TODO(06.4): from the last parameter to the first, into the newest bucket or into a new one
  lockstep::todo("06.4 lay_out_buckets");
}

void average_in_buckets(std::span<const std::span<float>> gradients, std::span<const BucketLayout> buckets,
                        Collectives& group) {
  // TODO(06.4): copy each bucket's gradients in, all-reduce it, copy the means out
  lockstep::todo("06.4 average_in_buckets");
}

}  // namespace lockstep::ddp
