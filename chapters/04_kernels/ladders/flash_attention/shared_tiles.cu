// Attention, rung 3 of 3: 64 queries share each tile of keys and values (flash attention, with scalar arithmetic).
//
// q, k, v [H, T, 64] -> out [H, T, 64], causal. 64 threads per block, one per query, with q and the result in
// registers; tiles of 32 keys and 32 values in shared memory. Any H and T; scores is not used.
// Removes: 63 of 64 reads of each key and value, and all shuffles. All lanes of a warp read the same word of a tile at
// a time, which shared memory broadcasts in one pass.
// Pays: the arithmetic: 4 operations per pair and number, on the float32 units. Our model's kernel runs the same
// schedule with the two products on tensor cores (common/train/kernels/cuda).
// Source: Dao et al., "FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness", NeurIPS 2022.
#include "../registry.hpp"
#include "../warp.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::flash_attention {

namespace {

constexpr int kQueries = 64, kKeys = 32;

// Rows [begin, begin + 32) of a head's keys or values; rows past `end` are neither read nor filled.
__device__ void load_tile(float (&tile)[kKeys][kHeadWidth], const float* rows, int begin, int end) {
  for (int i = threadIdx.x; i < kKeys * kHeadWidth; i += kQueries) {
    const int row = begin + i / kHeadWidth;
    if (row < end) tile[i / kHeadWidth][i % kHeadWidth] = rows[row * kHeadWidth + i % kHeadWidth];
  }
}

// A query's state on its way through the keys.
struct Query {
  float q[kHeadWidth], result[kHeadWidth] = {};
  float largest = -INFINITY, sum = 0;

  __device__ void meet(const float (&key)[kHeadWidth], const float (&value)[kHeadWidth]) {
    float score = 0;
#pragma unroll
    for (int d = 0; d < kHeadWidth; ++d) score += q[d] * key[d];
    score *= kScoreScale;
    const float new_largest = fmaxf(largest, score);
    const float kept = expf(largest - new_largest), weight = expf(score - new_largest);
    sum = sum * kept + weight;
#pragma unroll
    for (int d = 0; d < kHeadWidth; ++d) result[d] = result[d] * kept + weight * value[d];
    largest = new_largest;
  }
};

__global__ void __launch_bounds__(kQueries) shared_tiles_kernel(float* out, AttentionInput in) {
  __shared__ float keys[kKeys][kHeadWidth], values[kKeys][kHeadWidth];
  const int first_query = blockIdx.x * kQueries, position = first_query + threadIdx.x;
  const int offset = blockIdx.y * in.positions * kHeadWidth;
  const bool is_query = position < in.positions;
  Query query;
  if (is_query) {
#pragma unroll
    for (int d = 0; d < kHeadWidth; ++d) query.q[d] = in.q[offset + position * kHeadWidth + d];
  }
  const int end = min(first_query + kQueries, in.positions);  // no query of the block sees later keys
  for (int begin = 0; begin < end; begin += kKeys) {
    load_tile(keys, in.k + offset, begin, end);
    load_tile(values, in.v + offset, begin, end);
    __syncthreads();
    for (int i = 0; i < kKeys; ++i) {
      if (is_query && begin + i <= position) query.meet(keys[i], values[i]);
    }
    __syncthreads();
  }
  if (!is_query) return;
#pragma unroll
  for (int d = 0; d < kHeadWidth; ++d) out[offset + position * kHeadWidth + d] = query.result[d] / query.sum;
}

}  // namespace

void shared_tiles(float* out, AttentionInput in, float*, cudaStream_t stream) {
  shared_tiles_kernel<<<dim3(pieces(in.positions, kQueries), in.heads), kQueries, 0, stream>>>(out, in);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::flash_attention
