#include "04_kernels/7_flash_attention/flash_attention.hpp"

namespace lockstep::kernels {

namespace {

constexpr int kQueries = 64;           // of a block: a thread for each
constexpr int kKeys = 32;              // of a tile in shared memory
constexpr float kScoreScale = 0.125F;  // 1 / sqrt(kHeadWidth)

// Copies the rows [begin, begin + kKeys) of a head's keys or values into shared memory, with all threads of the block.
// Rows from `end` on are not read, and stay as they are in the tile.
__device__ void load_tile(float (&tile)[kKeys][kHeadWidth], const float* rows, int begin, int end) {
  for (int i = threadIdx.x; i < kKeys * kHeadWidth; i += kQueries) {
    const int row = begin + i / kHeadWidth;
    if (row < end) tile[i / kHeadWidth][i % kHeadWidth] = rows[row * kHeadWidth + i % kHeadWidth];
  }
}

// Kept by a thread for its query while keys and values pass by.
struct Query {
  float q[kHeadWidth];            // the query itself
  float largest = -INFINITY;      // score so far
  float sum = 0;                  // of exp(score - largest)
  float result[kHeadWidth] = {};  // the sum of exp(score - largest) * value

  // Takes in one more key with its value.
  __device__ void meet(const float (&key)[kHeadWidth], const float (&value)[kHeadWidth]) {
    // SOLUTION(04.7): compute the score; if it is the largest, scale sum and result down; add this value's share to
    // both
    float score = 0;
    for (int d = 0; d < kHeadWidth; ++d) score += q[d] * key[d];
    score *= kScoreScale;
    const float new_largest = fmaxf(largest, score);
    const float kept = expf(largest - new_largest);  // 0 for the first key, 1 if the maximum stays
    const float weight = expf(score - new_largest);
    sum = sum * kept + weight;
    for (int d = 0; d < kHeadWidth; ++d) result[d] = result[d] * kept + weight * value[d];
    largest = new_largest;
    // END SOLUTION
  }
};

// Block (x, y) computes the 64 positions from 64 x on, of head y.
__global__ void flash_attention_kernel(float* out, const float* q, const float* k, const float* v, int positions) {
  __shared__ float keys[kKeys][kHeadWidth], values[kKeys][kHeadWidth];
  const int first_position = blockIdx.x * kQueries, position = first_position + threadIdx.x;
  const int head = blockIdx.y * positions * kHeadWidth;  // where it begins in the four arrays
  const bool is_query = position < positions;            // the last block may have threads to spare
  Query query;
  for (int d = 0; d < kHeadWidth; ++d) query.q[d] = is_query ? q[head + position * kHeadWidth + d] : 0.0F;

  // SOLUTION(04.7): for each tile up to the block's last position: load it, and let the query meet the keys that it may
  // see
  const int end = min(first_position + kQueries, positions);  // no query of this block looks further
  for (int begin = 0; begin < end; begin += kKeys) {
    load_tile(keys, k + head, begin, end);
    load_tile(values, v + head, begin, end);
    __syncthreads();  // all rows are there
    for (int i = 0; i < kKeys; ++i)
      if (is_query && begin + i <= position) query.meet(keys[i], values[i]);
    __syncthreads();  // nobody needs them any more
  }
  // END SOLUTION

  if (!is_query) return;
  for (int d = 0; d < kHeadWidth; ++d) out[head + position * kHeadWidth + d] = query.result[d] / query.sum;
}

}  // namespace

void flash_attention(float* out, const float* q, const float* k, const float* v, int heads, int positions,
                     cudaStream_t stream) {
  // SOLUTION(04.7) flash_attention: launch the kernel: blocks of kQueries threads, as many as all positions and heads
  // need
  const dim3 blocks((positions + kQueries - 1) / kQueries, heads);
  flash_attention_kernel<<<blocks, kQueries, 0, stream>>>(out, q, k, v, positions);
  // END SOLUTION
}

}  // namespace lockstep::kernels
