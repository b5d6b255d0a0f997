#include "04_kernels/7_flash_attention/flash_attention.hpp"
#include "exercise/subject.hpp"

namespace lockstep::exercise {
namespace {

constexpr Mistake kMistakes[] = {
    {"result_not_scaled",
     "when a larger score comes, the sum of weights is scaled down, but the weighted values are not",
     "sum and result are relative to the same maximum: scale both by exp(old maximum - new maximum)."},
    {"no_score_scale", "the scores are not divided by 8, the square root of the head's width",
     "Multiply the product of query and key by kScoreScale."},
    {"no_maximum", "exponentials of scores are computed without subtracting the largest, and overflow",
     "exp(89) is more than a float can hold: work with score - largest."},
    {"sees_the_future", "a query also meets the keys behind its own position",
     "Attention here is causal: only keys with begin + i <= position."},
    {"not_itself", "a query does not meet the key of its own position", "begin + i <= position, not <."},
    {"no_barrier_after_loading", "there is no barrier between loading a tile and using it",
     "A thread uses rows that others have loaded: __syncthreads() goes between the two."},
    {"no_barrier_before_loading", "there is no barrier between using a tile and loading the next one",
     "A fast warp must not overwrite rows that a slower one still reads: end each turn with __syncthreads()."},
    {"leaves_before_barriers", "threads without a query skip the loop with its barriers",
     "All threads of the block load and wait; only meet() is for those that have a query."},
    {"all_tiles", "each block loads all tiles of the head, also those that lie behind its last query",
     "Stop at min(first_position + kQueries, positions)."},
};

}  // namespace

std::span<const Mistake> mistakes() noexcept { return kMistakes; }

}  // namespace lockstep::exercise

namespace lockstep::kernels {

namespace {

using exercise::is_mistake;

constexpr int kQueries = 64, kKeys = 32;

// Kernels cannot ask is_mistake(): they are told.
struct Faults {
  bool result_not_scaled, no_score_scale, no_maximum, sees_the_future, not_itself, no_barrier_after_loading,
      no_barrier_before_loading, leaves_before_barriers, all_tiles;
};

__device__ void load_tile(float (&tile)[kKeys][kHeadWidth], const float* rows, int begin, int end) {
  for (int i = threadIdx.x; i < kKeys * kHeadWidth; i += kQueries) {
    const int row = begin + i / kHeadWidth;
    if (row < end) tile[i / kHeadWidth][i % kHeadWidth] = rows[row * kHeadWidth + i % kHeadWidth];
  }
}

struct Query {
  float q[kHeadWidth];
  float largest = -INFINITY, sum = 0;
  float result[kHeadWidth] = {};

  __device__ void meet(const float (&key)[kHeadWidth], const float (&value)[kHeadWidth], const Faults& faults) {
    float score = 0;
    for (int d = 0; d < kHeadWidth; ++d) score += q[d] * key[d];
    if (!faults.no_score_scale) score *= 0.125F;
    const float new_largest = faults.no_maximum ? 0.0F : fmaxf(largest, score);
    const float kept = expf(largest - new_largest), weight = expf(score - new_largest);
    sum = sum * kept + weight;
    const float kept_of_result = faults.result_not_scaled ? 1.0F : kept;
    for (int d = 0; d < kHeadWidth; ++d) result[d] = result[d] * kept_of_result + weight * value[d];
    largest = new_largest;
  }

  // Whether the query of `position` takes in the key of `other`.
  __device__ static bool sees(int position, int other, int positions, const Faults& faults) {
    if (faults.sees_the_future) return other < positions;
    return faults.not_itself ? other < position : other <= position;
  }
};

__global__ void flash_attention_kernel(float* out, const float* q, const float* k, const float* v, int positions,
                                       Faults faults) {
  __shared__ float keys[kKeys][kHeadWidth], values[kKeys][kHeadWidth];
  const int first_position = blockIdx.x * kQueries, position = first_position + threadIdx.x;
  const int head = blockIdx.y * positions * kHeadWidth;
  const bool is_query = position < positions;
  if (faults.leaves_before_barriers && !is_query) return;
  Query query;
  for (int d = 0; d < kHeadWidth; ++d) query.q[d] = is_query ? q[head + position * kHeadWidth + d] : 0.0F;
  const bool is_long = faults.all_tiles || faults.sees_the_future;
  const int end = is_long ? positions : min(first_position + kQueries, positions);
  for (int begin = 0; begin < end; begin += kKeys) {
    load_tile(keys, k + head, begin, end);
    load_tile(values, v + head, begin, end);
    if (!faults.no_barrier_after_loading) __syncthreads();
    for (int i = 0; i < kKeys; ++i)
      if (is_query && Query::sees(position, begin + i, positions, faults)) query.meet(keys[i], values[i], faults);
    if (!faults.no_barrier_before_loading) __syncthreads();
  }
  if (!is_query) return;
  for (int d = 0; d < kHeadWidth; ++d) out[head + position * kHeadWidth + d] = query.result[d] / query.sum;
}

}  // namespace

void flash_attention(float* out, const float* q, const float* k, const float* v, int heads, int positions,
                     cudaStream_t stream) {
  const Faults faults{is_mistake("result_not_scaled"),
                      is_mistake("no_score_scale"),
                      is_mistake("no_maximum"),
                      is_mistake("sees_the_future"),
                      is_mistake("not_itself"),
                      is_mistake("no_barrier_after_loading"),
                      is_mistake("no_barrier_before_loading"),
                      is_mistake("leaves_before_barriers"),
                      is_mistake("all_tiles")};
  const dim3 blocks((positions + kQueries - 1) / kQueries, heads);
  flash_attention_kernel<<<blocks, kQueries, 0, stream>>>(out, q, k, v, positions, faults);
}

}  // namespace lockstep::kernels
