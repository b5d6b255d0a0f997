#pragma once
/// @file
/// Given: the buckets of exercise 06.4 as their callers see them.
#include <cstdint>
#include <span>
#include <vector>

#include "base/round_up.hpp"
#include "exercise/collectives.hpp"
#include "exercise/todo.hpp"

namespace lockstep::ddp {

using exercise::Collectives;
using exercise::Work;

/// In a bucket, every gradient begins at a multiple of this many floats: 64 bytes, one cache line.
inline constexpr std::int64_t kAlignment = 16;

/// The bytes of one element.
inline constexpr std::int64_t kElementBytes = sizeof(float);

/// How large buckets become; the defaults are PyTorch's.
struct BucketSizes {
  std::int64_t first_bytes = std::int64_t{1} << 20;  ///< Bucket 0: small, so that communication starts early.
  std::int64_t bytes = std::int64_t{25} << 20;       ///< All others: large enough that latency does not matter.
};

/// Which gradients share one block of memory and one all-reduce, and where in it each of them begins.
struct BucketLayout {
  std::vector<std::size_t> parameters;  ///< Indices of parameters, in the order in which they lie in the bucket.
  std::vector<std::int64_t> begins;     ///< By position in `parameters`: its first element, a multiple of kAlignment.
  std::int64_t count;                   ///< Elements of the whole bucket, a multiple of kAlignment.
};

/// Divides parameters into buckets, beginning with the last parameter: backward computes its gradient first.
///
/// A parameter goes into the newest bucket if that does not exceed its limit then: the bucket's elements so far, with
/// all gaps, and the parameter's own take at most first_bytes (bucket 0) or bytes (others). Else it opens a new bucket;
/// a parameter that is larger than the limit has a bucket to itself.
///
/// @param counts  By parameter: its elements, at least 1. @param sizes  Limits in bytes.
/// @return  The buckets in the order in which they are to leave; none is empty, and together they hold every parameter.
[[nodiscard]] std::vector<BucketLayout> lay_out_buckets(std::span<const std::int64_t> counts, const BucketSizes& sizes);

/// Replaces the gradients by their means over all ranks, with one all-reduce per bucket, in the order of the buckets.
///
/// @param gradients  By parameter; the same counts on all ranks. @param buckets  Hold every parameter once.
/// @param group      All ranks call this function together.
/// @cost  Per bucket an all-reduce of its `count` elements; gaps between gradients are zeros.
void average_in_buckets(std::span<const std::span<float>> gradients, std::span<const BucketLayout> buckets,
                        Collectives& group);

}  // namespace lockstep::ddp
