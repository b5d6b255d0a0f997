#include <algorithm>

#include "06_gpt_ddp/4_buckets/buckets.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"first_parameter_first", "the buckets begin with the first parameter",
     "Which gradient does backward compute first? Its parameter belongs into bucket 0."},
    {"one_limit", "bucket 0 has the same limit as the others",
     "While there is only one bucket, the limit is first_bytes."},
    {"fills_up", "a bucket is closed only once it has reached its limit, so its last parameter may exceed it",
     "PyTorch's rule is that one; here you look whether the parameter still fits before you put it in."},
    {"empty_first", "a parameter that is larger than the limit leaves an empty bucket in front of it",
     "Begin without any bucket, and open one only for a parameter that does not fit."},
    {"no_gaps", "gradients lie directly one behind the other",
     "round_up() moves the next one to a multiple of kAlignment."},
    {"last_gap_counts", "a parameter counts with the gap behind it when it is compared with the limit",
     "Only what lies between the first and the last gradient takes part in the comparison."},
    {"sums", "the sum is not divided by the number of ranks", "all_reduce() adds; the mean is the sum / world_size."},
    {"copies_too_early", "the values are copied back before the all-reduce is done",
     "all_reduce() returns at once. Call synchronize() on what it returns, then copy."},
    {"one_each", "every gradient has an all-reduce of its own", "One all-reduce moves a whole bucket, gaps included."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::ddp {
namespace {

using exercise::is_mistake;

bool fits(const BucketLayout& bucket, std::int64_t count, std::int64_t limit) {
  const std::int64_t counted = is_mistake("last_gap_counts") ? round_up(count, kAlignment) : count;
  if (is_mistake("fills_up")) return bucket.count * kElementBytes < limit;
  return (bucket.count + counted) * kElementBytes <= limit;
}

}  // namespace

std::vector<BucketLayout> lay_out_buckets(std::span<const std::int64_t> counts, const BucketSizes& sizes) {
  std::vector<BucketLayout> buckets;
  if (is_mistake("empty_first") && !counts.empty()) buckets.push_back({{}, {}, 0});
  for (std::size_t k = 0; k < counts.size(); ++k) {
    const std::size_t i = is_mistake("first_parameter_first") ? k : counts.size() - 1 - k;
    const std::int64_t limit = buckets.size() <= 1 && !is_mistake("one_limit") ? sizes.first_bytes : sizes.bytes;
    if (buckets.empty() || !fits(buckets.back(), counts[i], limit)) buckets.push_back({{}, {}, 0});
    BucketLayout& bucket = buckets.back();
    bucket.parameters.push_back(i);
    bucket.begins.push_back(bucket.count);
    bucket.count += is_mistake("no_gaps") ? counts[i] : round_up(counts[i], kAlignment);
  }
  return buckets;
}

namespace {

void average(std::span<const std::span<float>> gradients, const BucketLayout& bucket, Collectives& group) {
  std::vector<float> values(static_cast<std::size_t>(bucket.count));
  for (std::size_t k = 0; k < bucket.parameters.size(); ++k)
    std::ranges::copy(gradients[bucket.parameters[k]], values.begin() + bucket.begins[k]);
  Work work = group.all_reduce(values);
  if (!is_mistake("copies_too_early")) work.synchronize();
  const auto divisor = static_cast<float>(is_mistake("sums") ? 1 : group.world_size());
  for (std::size_t k = 0; k < bucket.parameters.size(); ++k) {
    const std::span<float> gradient = gradients[bucket.parameters[k]];
    for (std::size_t i = 0; i < gradient.size(); ++i)
      gradient[i] = values[static_cast<std::size_t>(bucket.begins[k]) + i] / divisor;
  }
  work.synchronize();
}

}  // namespace

void average_in_buckets(std::span<const std::span<float>> gradients, std::span<const BucketLayout> buckets,
                        Collectives& group) {
  for (const BucketLayout& bucket : buckets) {
    if (!is_mistake("one_each")) {
      average(gradients, bucket, group);
      continue;
    }
    for (const std::size_t p : bucket.parameters)
      average(gradients, {{p}, {0}, static_cast<std::int64_t>(gradients[p].size())}, group);
  }
}

}  // namespace lockstep::ddp
