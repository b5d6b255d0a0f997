// Attention, rung 2 of 3: a warp per query, which visits the keys one after another and keeps no scores.
//
// q, k, v [H, T, 64] -> out [H, T, 64], causal. 4 warps per block; a lane holds 2 of the 64 numbers of its query and of
// the result. Any H and T; scores is not used.
// Removes: the scores' traffic and memory, by online softmax: at each new largest score, the sums so far (of the
// weights and of the weighted values) are scaled down.
// Pays: each query reads all earlier keys and values again, 512 bytes per pair; 5 shuffles per score.
#include "../registry.hpp"
#include "../warp_sum.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::flash_attention {

namespace {

constexpr int kWarps = 4;

__device__ float2 pair_at(const float* row, int lane) { return reinterpret_cast<const float2*>(row)[lane]; }

__global__ void online_row_kernel(float* out, AttentionInput in) {
  const int lane = threadIdx.x, query = blockIdx.x * kWarps + threadIdx.y, head = blockIdx.y * in.positions;
  if (query >= in.positions) return;
  const float2 q = pair_at(in.q + (head + query) * kHeadWidth, lane);
  float largest = -INFINITY, sum = 0;
  float2 result = {0, 0};
  for (int key = 0; key <= query; ++key) {
    const float2 k = pair_at(in.k + (head + key) * kHeadWidth, lane);
    const float score = warp_sum(q.x * k.x + q.y * k.y) * kScoreScale;
    const float new_largest = fmaxf(largest, score);
    const float kept = expf(largest - new_largest), weight = expf(score - new_largest);
    const float2 v = pair_at(in.v + (head + key) * kHeadWidth, lane);
    sum = sum * kept + weight;
    result = {result.x * kept + weight * v.x, result.y * kept + weight * v.y};
    largest = new_largest;
  }
  reinterpret_cast<float2*>(out + (head + query) * kHeadWidth)[lane] = {result.x / sum, result.y / sum};
}

}  // namespace

void online_row(float* out, AttentionInput in, float*, cudaStream_t stream) {
  online_row_kernel<<<dim3(pieces(in.positions, kWarps), in.heads), dim3(kWarp, kWarps), 0, stream>>>(out, in);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::flash_attention
