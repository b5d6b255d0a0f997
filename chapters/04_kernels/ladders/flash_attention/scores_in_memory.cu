// Attention, rung 1 of 3: three kernels, with the scores of all pairs of positions in memory between them.
//
// q, k, v [H, T, 64] -> out [H, T, 64]: softmax(q k^T / 8) v in each head, where a query sees only keys up to its own
// position (causal). scores [H, T, T] is scratch. Any H and T.
// Traffic: 4 T T bytes per head written once and read three times, T / 16 times as much as q, k, v and out together: at
// T = 4096 the scores of one head take 64 MiB.
#include "../registry.hpp"
#include "../warp_sum.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::flash_attention {

namespace {

constexpr int kTile = 16, kWarps = 4;

// A thread per pair; blockIdx.z is the head.
__global__ void scores_kernel(float* scores, AttentionInput in) {
  const int key = blockIdx.x * kTile + threadIdx.x, query = blockIdx.y * kTile + threadIdx.y;
  if (query >= in.positions || key > query) return;
  const int head = blockIdx.z * in.positions;
  const float* q = in.q + (head + query) * kHeadWidth;
  const float* k = in.k + (head + key) * kHeadWidth;
  float sum = 0;
  for (int d = 0; d < kHeadWidth; ++d) sum += q[d] * k[d];
  scores[(head + query) * in.positions + key] = sum * kScoreScale;
}

// A warp per row of scores; later positions than the query's are never read.
__global__ void softmax_kernel(float* scores, int rows, int positions) {
  const int lane = threadIdx.x, row = blockIdx.x * kWarps + threadIdx.y;
  if (row >= rows) return;
  float* x = scores + row * positions;
  const int keys = row % positions + 1;
  float largest = -INFINITY;
  for (int i = lane; i < keys; i += kWarp) largest = fmaxf(largest, x[i]);
  largest = warp_max(largest);
  float sum = 0;
  for (int i = lane; i < keys; i += kWarp) sum += expf(x[i] - largest);
  sum = warp_sum(sum);
  for (int i = lane; i < keys; i += kWarp) x[i] = expf(x[i] - largest) / sum;
}

// A thread per element of out; a block per query.
__global__ void weighted_values_kernel(float* out, const float* weights, AttentionInput in) {
  const int query = blockIdx.x, head = blockIdx.y * in.positions, d = threadIdx.x;
  float sum = 0;
  for (int key = 0; key <= query; ++key) {
    sum += weights[(head + query) * in.positions + key] * in.v[(head + key) * kHeadWidth + d];
  }
  out[(head + query) * kHeadWidth + d] = sum;
}

}  // namespace

void scores_in_memory(float* out, AttentionInput in, float* scores, cudaStream_t stream) {
  const int tiles = pieces(in.positions, kTile), rows = in.heads * in.positions;
  scores_kernel<<<dim3(tiles, tiles, in.heads), dim3(kTile, kTile), 0, stream>>>(scores, in);
  softmax_kernel<<<pieces(rows, kWarps), dim3(kWarp, kWarps), 0, stream>>>(scores, rows, in.positions);
  weighted_values_kernel<<<dim3(in.positions, in.heads), kHeadWidth, 0, stream>>>(out, scores, in);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::flash_attention
