#include "04_kernels/7_flash_attention/flash_attention.hpp"
#include "exercise/alternatives.hpp"

namespace lockstep::exercise {
namespace {

constexpr Alternative kAlternatives[] = {
    {"backwards", "the tiles are taken from the last to the first"},
    {"always_rescales", "no comparison: each key rescales; the query is divided by 8 once, in its registers"},
    {"partial_products", "four partial sums per score; a new maximum has the weight 1"},
    {"barriers_to_spare", "a barrier after each load and after use; tiles are counted, not positions"},
};

}  // namespace

std::span<const Alternative> alternatives() noexcept { return kAlternatives; }

}  // namespace lockstep::exercise

namespace lockstep::kernels {

using exercise::is_alternative;

namespace {

constexpr int kQueries = 64, kKeys = 32;

enum class Way { kBackwards, kAlwaysRescales, kPartialProducts, kBarriersToSpare };

__device__ void load_tile(float (&tile)[kKeys][kHeadWidth], const float* rows, int begin, int end) {
  for (int i = threadIdx.x; i < kKeys * kHeadWidth; i += kQueries) {
    const int row = begin + i / kHeadWidth;
    if (row < end) tile[i / kHeadWidth][i % kHeadWidth] = rows[row * kHeadWidth + i % kHeadWidth];
  }
}

struct Query {
  float q[kHeadWidth];  // divided by 8
  float largest = -INFINITY, sum = 0;
  float result[kHeadWidth] = {};

  __device__ float score(const float (&key)[kHeadWidth], Way way) const {
    float part[4] = {};
    for (int d = 0; d < kHeadWidth; ++d) part[way == Way::kPartialProducts ? d % 4 : 0] += q[d] * key[d];
    return part[0] + part[1] + part[2] + part[3];
  }

  __device__ void meet(const float (&key)[kHeadWidth], const float (&value)[kHeadWidth], Way way) {
    const float now = score(key, way);
    if (way == Way::kPartialProducts && now > largest) {
      const float kept = expf(largest - now);
      sum = fmaf(sum, kept, 1.0F);
      for (int d = 0; d < kHeadWidth; ++d) result[d] = fmaf(result[d], kept, value[d]);
      largest = now;
      return;
    }
    const float both = fmaxf(largest, now), kept = expf(largest - both), weight = expf(now - both);
    sum = sum * kept + weight;
    for (int d = 0; d < kHeadWidth; ++d) result[d] = result[d] * kept + weight * value[d];
    largest = both;
  }
};

__global__ void flash_attention_kernel(float* out, const float* q, const float* k, const float* v, int positions,
                                       Way way) {
  __shared__ float keys[kKeys][kHeadWidth], values[kKeys][kHeadWidth];
  const int first_position = blockIdx.x * kQueries, position = first_position + threadIdx.x;
  const int head = blockIdx.y * positions * kHeadWidth;
  const bool is_query = position < positions;
  Query query;
  for (int d = 0; d < kHeadWidth; ++d) query.q[d] = is_query ? q[head + position * kHeadWidth + d] / 8 : 0.0F;
  const int end = min(first_position + kQueries, positions), tiles = (end + kKeys - 1) / kKeys;
  for (int turn = 0; turn < tiles; ++turn) {
    const int begin = (way == Way::kBackwards ? tiles - 1 - turn : turn) * kKeys;
    if (turn > 0) __syncthreads();
    load_tile(keys, k + head, begin, end);
    if (way == Way::kBarriersToSpare) __syncthreads();
    load_tile(values, v + head, begin, end);
    __syncthreads();
    const int met = is_query ? min(kKeys, position - begin + 1) : 0;
    for (int i = 0; i < met; ++i) query.meet(keys[i], values[i], way);
    if (way == Way::kBarriersToSpare) __syncthreads();
  }
  if (!is_query) return;
  const float scale = 1 / query.sum;
  for (int d = 0; d < kHeadWidth; ++d) out[head + position * kHeadWidth + d] = query.result[d] * scale;
}

}  // namespace

void flash_attention(float* out, const float* q, const float* k, const float* v, int heads, int positions,
                     cudaStream_t stream) {
  const Way way = is_alternative("backwards")          ? Way::kBackwards
                  : is_alternative("always_rescales")  ? Way::kAlwaysRescales
                  : is_alternative("partial_products") ? Way::kPartialProducts
                                                       : Way::kBarriersToSpare;
  const dim3 blocks((positions + kQueries - 1) / kQueries, heads);
  flash_attention_kernel<<<blocks, kQueries, 0, stream>>>(out, q, k, v, positions, way);
}

}  // namespace lockstep::kernels
