#include "06_gpt_ddp/4_buckets/buckets.hpp"

#include <algorithm>

namespace lockstep::ddp {

std::vector<BucketLayout> lay_out_buckets(std::span<const std::int64_t> counts, const BucketSizes& sizes) {
  // SOLUTION(06.4) lay_out_buckets: from the last parameter to the first, into the newest bucket or into a new one
  std::vector<BucketLayout> buckets;
  for (std::size_t i = counts.size(); i-- > 0;) {
    const std::int64_t limit = buckets.size() <= 1 ? sizes.first_bytes : sizes.bytes;  // of the newest bucket
    if (buckets.empty() || (buckets.back().count + counts[i]) * kElementBytes > limit) buckets.push_back({{}, {}, 0});
    BucketLayout& bucket = buckets.back();
    bucket.parameters.push_back(i);
    bucket.begins.push_back(bucket.count);
    bucket.count = round_up(bucket.count + counts[i], kAlignment);
  }
  return buckets;
  // END SOLUTION
}

void average_in_buckets(std::span<const std::span<float>> gradients, std::span<const BucketLayout> buckets,
                        Collectives& group) {
  // SOLUTION(06.4) average_in_buckets: copy each bucket's gradients in, all-reduce it, copy the means out
  std::vector<std::vector<float>> memory;
  std::vector<Work> in_flight;
  for (const BucketLayout& bucket : buckets) {
    std::vector<float>& values = memory.emplace_back(static_cast<std::size_t>(bucket.count));
    for (std::size_t k = 0; k < bucket.parameters.size(); ++k)
      std::ranges::copy(gradients[bucket.parameters[k]], values.begin() + bucket.begins[k]);
    in_flight.push_back(group.all_reduce(values));
  }
  const auto ranks = static_cast<float>(group.world_size());
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    in_flight[b].synchronize();
    for (std::size_t k = 0; k < buckets[b].parameters.size(); ++k) {
      const std::span<float> gradient = gradients[buckets[b].parameters[k]];
      const std::span sums = std::span(memory[b]).subspan(static_cast<std::size_t>(buckets[b].begins[k]));
      std::ranges::transform(sums.first(gradient.size()), gradient.begin(), [=](float sum) { return sum / ranks; });
    }
  }
  // END SOLUTION
}

}  // namespace lockstep::ddp
