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
    {"no_gaps", "gradients lie directly one after the other",
     "round_up() moves the next one to a multiple of kAlignment."},
    {"limit_without_gaps", "only the gradients themselves are compared with the limit, without the gaps between them",
     "A bucket's elements so far are bucket.count, which has all gaps in it."},
    {"last_gap_counts", "a parameter counts with the gap after it when it is compared with the limit",
     "Only what lies between the first and the last gradient takes part in the comparison."},
    {"sums", "the sum is not divided by the number of ranks", "all_reduce() adds; the mean is the sum / world_size."},
    {"copies_too_early", "the values are copied back before the all-reduce is done",
     "all_reduce() returns at once. Call synchronize() on what it returns, then copy."},
    {"one_each", "every gradient has an all-reduce of its own", "One all-reduce moves a whole bucket, gaps included."},
    {"must_stay_below", "a bucket that is exactly as large as its limit is refused",
     "At most first_bytes or bytes: compare with <=."},
    {"limit_in_elements", "elements are compared with a limit in bytes", "An element has kElementBytes bytes."},
    {"first_fit", "a parameter goes into the first bucket with room, not into the newest",
     "Earlier buckets are closed: their gradients are ready, and they may have left already."},
    {"packs_tightly", "the gradients are copied directly one after the other, not to where `begins` says",
     "Other code reads the bucket by `begins`; the gaps between are zeros."},
    {"stale_gaps", "one block is used again for all buckets, so its gaps hold numbers of the bucket before",
     "Gaps are sent as zeros: fill the block, or take a new one for each bucket."},
    {"divides_by_buckets", "the sum is divided by the number of buckets, not of ranks",
     "Each rank has contributed once to every element."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::ddp {
namespace {

using exercise::is_mistake;

// @param counts  Of all parameters. @param count  Of the one that is to go into the bucket.
bool fits(const BucketLayout& bucket, std::span<const std::int64_t> counts, std::int64_t count, std::int64_t limit) {
  if (is_mistake("limit_without_gaps")) {
    for (const std::size_t parameter : bucket.parameters) count += counts[parameter];
    return count * kElementBytes <= limit;
  }
  const std::int64_t counted = is_mistake("last_gap_counts") ? round_up(count, kAlignment) : count;
  if (is_mistake("must_stay_below")) return (bucket.count + counted) * kElementBytes < limit;
  if (is_mistake("limit_in_elements")) return bucket.count + counted <= limit;
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
    if (buckets.empty() || !fits(buckets.back(), counts, counts[i], limit)) buckets.push_back({{}, {}, 0});
    std::size_t chosen = buckets.size() - 1;
    for (std::size_t b = 0; b < chosen && is_mistake("first_fit"); ++b)
      if (fits(buckets[b], counts, counts[i], b == 0 ? sizes.first_bytes : sizes.bytes)) chosen = b;
    if (buckets.back().parameters.empty() && chosen + 1 < buckets.size()) buckets.pop_back();
    BucketLayout& bucket = buckets[chosen];
    bucket.parameters.push_back(i);
    bucket.begins.push_back(bucket.count);
    bucket.count += is_mistake("no_gaps") ? counts[i] : round_up(counts[i], kAlignment);
  }
  return buckets;
}

namespace {

// `values`: the block of the bucket before.
void average(std::span<const std::span<float>> gradients, const BucketLayout& bucket, double divisor,
             std::vector<float>& values, Collectives& group) {
  if (!is_mistake("stale_gaps")) values.clear();
  values.resize(static_cast<std::size_t>(bucket.count));
  std::vector<std::int64_t> begins = bucket.begins;
  for (std::size_t k = 1; k < begins.size() && is_mistake("packs_tightly"); ++k)
    begins[k] = begins[k - 1] + static_cast<std::int64_t>(gradients[bucket.parameters[k - 1]].size());
  for (std::size_t k = 0; k < bucket.parameters.size(); ++k)
    std::ranges::copy(gradients[bucket.parameters[k]], values.begin() + begins[k]);
  Work work = group.all_reduce(values);
  if (!is_mistake("copies_too_early")) work.synchronize();
  for (std::size_t k = 0; k < bucket.parameters.size(); ++k) {
    const std::span<float> gradient = gradients[bucket.parameters[k]];
    for (std::size_t i = 0; i < gradient.size(); ++i)
      gradient[i] = values[static_cast<std::size_t>(begins[k]) + i] / static_cast<float>(divisor);
  }
  work.synchronize();
}

}  // namespace

void average_in_buckets(std::span<const std::span<float>> gradients, std::span<const BucketLayout> buckets,
                        Collectives& group) {
  double divisor = is_mistake("sums") ? 1 : group.world_size();
  if (is_mistake("divides_by_buckets")) divisor = static_cast<double>(buckets.size());
  std::vector<float> values;
  for (const BucketLayout& bucket : buckets) {
    if (!is_mistake("one_each")) {
      average(gradients, bucket, divisor, values, group);
      continue;
    }
    for (const std::size_t p : bucket.parameters)
      average(gradients, {{p}, {0}, static_cast<std::int64_t>(gradients[p].size())}, divisor, values, group);
  }
}

}  // namespace lockstep::ddp
