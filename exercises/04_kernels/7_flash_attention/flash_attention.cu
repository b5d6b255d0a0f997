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
    // TODO(04.7): compute the score; if it is the largest, scale sum and result down; add this value's share to
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

  // TODO(04.7): for each tile up to the block's last position: load it, and let the query meet the keys that it may

  if (!is_query) return;
  for (int d = 0; d < kHeadWidth; ++d) out[head + position * kHeadWidth + d] = query.result[d] / query.sum;
}

}  // namespace

void flash_attention(float* out, const float* q, const float* k, const float* v, int heads, int positions,
                     cudaStream_t stream) {
  // TODO(04.7): launch the kernel: blocks of kQueries threads, as many as all positions and heads
  lockstep::todo("04.7 flash_attention");
}

}  // namespace lockstep::kernels
