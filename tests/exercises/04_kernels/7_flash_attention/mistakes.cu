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
    {"divided_by_width", "the scores are divided by 64, the head's width, instead of its square root",
     "Multiply the product of query and key by kScoreScale, which is 1 / 8."},
    {"no_maximum", "exponentials of scores are computed without subtracting the largest, and overflow",
     "exp(89) is more than a float can hold: work with score - largest."},
    {"sees_the_future", "a query also meets the keys behind its own position",
     "Attention here is causal: only keys with begin + i <= position."},
    {"not_itself", "a query does not meet the key of its own position", "begin + i <= position, not <."},
    {"no_barrier_after_loading", "there is no barrier between loading a tile and using it",
     "A thread uses rows that others have loaded: __syncthreads() goes between the two."},
    {"no_barrier_after_loading_but_before",
     "there is a barrier before a tile is loaded, but none between loading it and using it",
     "A thread uses rows that others have loaded: __syncthreads() goes between the two, too."},
    {"no_barrier_before_loading", "there is no barrier between using a tile and loading the next one",
     "A fast warp must not overwrite rows that a slower one still reads: end each turn with __syncthreads()."},
    {"leaves_before_barriers", "threads without a query skip the loop with its barriers",
     "All threads of the block load and wait; only meet() is for those that have a query."},
    {"meets_without_a_query", "threads without a query meet keys, too, also such as nobody has loaded",
     "Their results are not stored, but they read leftovers: meet() is only for threads with a query."},
    {"stops_at_own_position",
     "a thread leaves the loop at its own position, while others of the block still load and wait",
     "All threads of the block go through the tiles up to the block's last query; only meet() depends on the own "
     "position."},
    {"place_in_block", "a key's place in its tile is compared with the query's place in the block",
     "Both are places within something that moves: compare the positions, begin + i <= position."},
    {"steps_of_queries", "the tiles advance by kQueries rows, although a tile has kKeys of them",
     "The next tile begins kKeys positions further on."},
    {"head_forgotten", "every block reads the keys and values of the first head",
     "Both begin at `head`, like the queries: k + head, v + head."},
    {"head_of_values_forgotten", "every block reads the values of the first head", "load_tile(values, v + head, ...)."},
    {"head_of_keys_forgotten", "every block reads the keys of the first head", "load_tile(keys, k + head, ...)."},
    {"keys_as_values", "the keys are added up in place of the values", "meet(keys[i], values[i])."},
    {"scales_new_value", "the factor for a new maximum is applied to the value that comes, not to the result so far",
     "result = result * factor + weight * value."},
    {"divides_early", "the result is divided by the sum with each key, and the kernel divides once more",
     "The kernel divides at the end: keep the weighted sum."},
    {"only_new_maxima", "a key whose score is not the new maximum is left out",
     "Every key adds its weight, exp(score - maximum), which is 1 for the new maximum."},
    {"sum_not_scaled", "when a larger score comes, the weighted values are scaled down, but the sum of weights is not",
     "sum and result are relative to the same maximum: scale both by exp(old maximum - new maximum)."},
    {"stores_the_maximum_first",
     "the new maximum is stored before the factor is computed from the old one, so the factor is always exp(0) = 1",
     "Compute exp(largest - new_largest) while `largest` is still the old one."},
    {"grid_swapped", "blockIdx.x numbers the heads, and blockIdx.y the groups of positions",
     "dim3(groups of 64 positions, heads)."},
    {"reads_behind_the_last", "the last tile is loaded to its end, also behind the head's last position",
     "Rows exist up to `positions`: end = min(first_position + kQueries, positions)."},
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
      no_barrier_before_loading, leaves_before_barriers, all_tiles, stops_at_own_position, place_in_block,
      steps_of_queries, head_of_values_forgotten, head_of_keys_forgotten, keys_as_values, scales_new_value,
      divides_early, only_new_maxima, sum_not_scaled, reads_behind_the_last, divided_by_width, waits_before_loading,
      nothing_scaled, meets_without_a_query;
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
    if (!faults.no_score_scale) score *= faults.divided_by_width ? 1.0F / 64 : 0.125F;
    const float new_largest = faults.no_maximum ? 0.0F : fmaxf(largest, score);
    if (faults.only_new_maxima && score <= largest) return;
    const float kept = expf(largest - new_largest);
    const float weight = expf(score - new_largest);
    const float kept_of_sum = faults.sum_not_scaled || faults.nothing_scaled ? 1.0F : kept;
    const bool keeps_result = faults.result_not_scaled || faults.scales_new_value || faults.nothing_scaled;
    const float kept_of_result = keeps_result ? 1.0F : kept;
    const float weight_of_value = faults.scales_new_value ? weight * kept : weight;
    sum = sum * kept_of_sum + weight;
    for (int d = 0; d < kHeadWidth; ++d) {
      result[d] = result[d] * kept_of_result + weight_of_value * value[d];
      if (faults.divides_early) result[d] /= sum;
    }
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
  int end = is_long ? positions : min(first_position + kQueries, positions);
  if (faults.reads_behind_the_last) end = first_position + kQueries;
  for (int begin = 0; begin < end; begin += faults.steps_of_queries ? kQueries : kKeys) {
    if (faults.stops_at_own_position && begin > position) break;
    if (faults.waits_before_loading) __syncthreads();
    load_tile(keys, faults.head_of_keys_forgotten ? k : k + head, begin, end);
    load_tile(values, faults.head_of_values_forgotten ? v : v + head, begin, end);
    if (!faults.no_barrier_after_loading && !faults.waits_before_loading) __syncthreads();
    for (int i = 0; i < kKeys; ++i)
      if ((is_query || faults.meets_without_a_query) &&
          (faults.place_in_block ? i <= static_cast<int>(threadIdx.x)
                                 : Query::sees(position, begin + i, positions, faults)))
        query.meet(keys[i], faults.keys_as_values ? keys[i] : values[i], faults);
    if (!faults.no_barrier_before_loading && !faults.waits_before_loading) __syncthreads();
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
                      is_mistake("all_tiles"),
                      is_mistake("stops_at_own_position"),
                      is_mistake("place_in_block"),
                      is_mistake("steps_of_queries"),
                      is_mistake("head_of_values_forgotten") || is_mistake("head_forgotten"),
                      is_mistake("head_of_keys_forgotten") || is_mistake("head_forgotten"),
                      is_mistake("keys_as_values"),
                      is_mistake("scales_new_value"),
                      is_mistake("divides_early"),
                      is_mistake("only_new_maxima"),
                      is_mistake("sum_not_scaled"),
                      is_mistake("reads_behind_the_last"),
                      is_mistake("divided_by_width"),
                      is_mistake("no_barrier_after_loading_but_before"),
                      is_mistake("stores_the_maximum_first"),
                      is_mistake("meets_without_a_query")};
  dim3 blocks((positions + kQueries - 1) / kQueries, heads);
  if (is_mistake("grid_swapped")) blocks = dim3(blocks.y, blocks.x);
  flash_attention_kernel<<<blocks, kQueries, 0, stream>>>(out, q, k, v, positions, faults);
}

}  // namespace lockstep::kernels
