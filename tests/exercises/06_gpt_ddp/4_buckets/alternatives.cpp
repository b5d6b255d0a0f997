#include "exercise/alternatives.hpp"

#include <algorithm>
#include <vector>

#include "06_gpt_ddp/4_buckets/buckets.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"all_at_once",
     "all buckets are in flight together, multiplied by 1 / ranks before that, and copied back from the last to the "
     "first"},
    {"one_block",
     "one block of memory holds all buckets one after another, and the layout looks for the longest run that fits"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::ddp {

using exercise::is_alternative;

namespace {

// Where a run of parameters, from `last` down to `first`, ends without the gap after it.
std::int64_t end_of_run(std::span<const std::int64_t> counts, std::size_t first, std::size_t last) {
  std::int64_t end = 0;
  for (std::size_t i = last + 1; i-- > first;) end = round_up(end, kAlignment) + counts[i];
  return end;
}

}  // namespace

std::vector<BucketLayout> lay_out_buckets(std::span<const std::int64_t> counts, const BucketSizes& sizes) {
  std::vector<BucketLayout> buckets;
  if (is_alternative("one_block")) {
    for (std::size_t end = counts.size(); end > 0;) {
      const std::int64_t limit = (buckets.empty() ? sizes.first_bytes : sizes.bytes) / kElementBytes;
      const std::size_t last = end - 1;
      std::size_t first = last;
      while (first > 0 && end_of_run(counts, first - 1, last) <= limit) --first;
      BucketLayout bucket{{}, {}, round_up(end_of_run(counts, first, last), kAlignment)};
      for (std::size_t i = end; i-- > first;) {
        bucket.begins.push_back(round_up(i == last ? 0 : end_of_run(counts, i + 1, last), kAlignment));
        bucket.parameters.push_back(i);
      }
      buckets.push_back(bucket);
      end = first;
    }
    return buckets;
  }
  std::int64_t room = 0;  // bytes that the newest bucket may still take
  for (std::size_t left = counts.size(); left > 0; --left) {
    const std::int64_t count = counts[left - 1], bytes = count * kElementBytes, rounded = round_up(count, kAlignment);
    if (buckets.empty() || bytes > room) {
      room = buckets.empty() ? sizes.first_bytes : sizes.bytes;
      buckets.push_back({{}, {}, 0});
    }
    buckets.back().parameters.push_back(left - 1);
    buckets.back().begins.push_back(buckets.back().count);
    buckets.back().count += rounded;
    room -= rounded * kElementBytes;
  }
  return buckets;
}

void average_in_buckets(std::span<const std::span<float>> gradients, std::span<const BucketLayout> buckets,
                        Collectives& group) {
  const auto ranks = static_cast<float>(group.world_size());
  std::int64_t total = 0;
  for (const BucketLayout& bucket : buckets) total += bucket.count;
  std::vector<float> memory(static_cast<std::size_t>(total));
  std::vector<std::span<float>> blocks;
  std::vector<Work> works;
  std::span<float> rest = memory;
  const bool divides_first = is_alternative("all_at_once");
  for (const BucketLayout& bucket : buckets) {
    blocks.push_back(rest.first(static_cast<std::size_t>(bucket.count)));
    rest = rest.subspan(static_cast<std::size_t>(bucket.count));
    for (std::size_t k = 0; k < bucket.parameters.size(); ++k)
      std::ranges::transform(gradients[bucket.parameters[k]], blocks.back().begin() + bucket.begins[k],
                             [&](float value) { return divides_first ? value * (1 / ranks) : value; });
    works.push_back(group.all_reduce(blocks.back()));
    if (is_alternative("one_block")) works.back().synchronize();
  }
  for (std::size_t b = buckets.size(); b-- > 0;) {
    works[b].synchronize();
    for (std::size_t k = 0; k < buckets[b].parameters.size(); ++k) {
      const std::span<float> gradient = gradients[buckets[b].parameters[k]];
      std::copy_n(blocks[b].begin() + buckets[b].begins[k], gradient.size(), gradient.begin());
      for (float& value : gradient) value *= divides_first ? 1 : 1 / ranks;
    }
  }
}

}  // namespace lockstep::ddp
