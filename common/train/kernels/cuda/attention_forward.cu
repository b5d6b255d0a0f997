// Causal attention, forward, in float32: tiles with a running softmax, no [T, T] matrix in memory.
// Letters: B samples, T positions, H heads, C channels, D = C / H; i: query, j: key.
// @source Dao, "FlashAttention-2", ICLR 2024, algorithm 1.
#include "kernels/cuda/attention.hpp"
#include "kernels/cuda/attention_tiles.cuh"
#include "kernels/cuda/operations.hpp"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

namespace {

/// Pointers and sizes of one call.
struct AttentionForward {
  float* out;          // [B, T, C]
  float* log_sum_exp;  // [B, H, T]
  const float* qkv;    // [B, T, 3C]
  DropoutRule dropout;
  std::int64_t length, channels;
  int heads, head_size;
  float scale;  // 1 / sqrt(D)
  bool is_aligned;
};

/// One tile of queries against all keys that it sees.
///
/// Launch: (tiles of T, H, B) blocks of 256; shared memory for three tiles and their scores. The blocks with the most
/// keys come first, so that short ones fill the gaps at the end. Scores are kept in powers of 2: e^s = 2^(s log2 e),
/// and the factor goes into q once. Traffic: reads q once and k, v once for each tile of queries that sees them (from
/// the second-level cache), writes out once. 2 B T^2 C flops (the causal half).
template <int kD>
__global__ void __launch_bounds__(kAttentionThreads) attend(AttentionForward p) {
  using Sizes = TileSizes<kD>;
  constexpr int kTile = Sizes::kTile, kPart = Sizes::kPart;
  float* const queries = dynamic_shared<float>();
  float* const keys = queries + Sizes::kTileFloats;
  float* const values = keys + Sizes::kTileFloats;
  float* const scores = values + Sizes::kTileFloats;
  const int x = static_cast<int>(threadIdx.x) % kSide, y = static_cast<int>(threadIdx.x) / kSide;
  const std::int64_t head = blockIdx.y, sample = blockIdx.z;
  const std::int64_t tile = gridDim.x - 1 - blockIdx.x, first = tile * kTile, stride = 3 * p.channels;
  const float* const packed = p.qkv + sample * p.length * stride + head * p.head_size;
  const std::uint64_t sample_id =
      p.dropout.sample_ids == nullptr ? 0 : static_cast<std::uint64_t>(p.dropout.sample_ids[sample]);
  float sums[kPart][kD / kSide] = {};  // of values, weighted by 2^(score - largest)
  float largest[kPart], totals[kPart] = {};
#pragma unroll
  for (int a = 0; a < kPart; ++a) largest[a] = -__builtin_huge_valf();
  load_tile<kD>(queries, packed + first * stride, stride, p.length - first, p.head_size, p.is_aligned,
                p.scale * kLog2E);

  for (std::int64_t begin = 0; begin <= first; begin += kTile) {
    __syncthreads();  // all have read the previous tiles
    const float* const from = packed + begin * stride + p.channels;
    load_tile<kD>(keys, from, stride, p.length - begin, p.head_size, p.is_aligned);
    load_tile<kD>(values, from + p.channels, stride, p.length - begin, p.head_size, p.is_aligned);
    __syncthreads();
    float s[kPart][kPart];  // scores, then their exponentials
    multiply_tiles<kD>(s, queries, keys, x, y);
#pragma unroll
    for (int a = 0; a < kPart; ++a) {
      const std::int64_t i = first + y + kSide * a;
      float row_largest = largest[a];
#pragma unroll
      for (int b = 0; b < kPart; ++b) {
        if (begin + x + kSide * b > i) s[a][b] = -__builtin_huge_valf();
        row_largest = fmaxf(row_largest, s[a][b]);
      }
      row_largest = warp_maximum<kSide>(row_largest);
      const float shrink = exp2f(largest[a] - row_largest);
      largest[a] = row_largest;
      totals[a] *= shrink;
#pragma unroll
      for (int c = 0; c < kD / kSide; ++c) sums[a][c] *= shrink;
#pragma unroll
      for (int b = 0; b < kPart; ++b) {
        s[a][b] = exp2f(s[a][b] - row_largest);
        totals[a] += s[a][b];
      }
      if (p.dropout.sample_ids != nullptr) {
        float factors[kPart];
        strided_factors(factors, p.dropout, sample_id, (head * p.length + i) * p.length + begin + x);
#pragma unroll
        for (int b = 0; b < kPart; ++b) s[a][b] = thinned(s[a][b], factors[b]);
      }
#pragma unroll
      for (int b = 0; b < kPart; ++b) scores[(y + kSide * a) * Sizes::kScoreStride + x + kSide * b] = s[a][b];
    }
    __syncwarp();  // a row's scores are written and read by one half of a warp
    add_weighted_rows<kD>(sums, scores, values, x, y);
  }

#pragma unroll
  for (int a = 0; a < kPart; ++a) {
    const float total = warp_sum<kSide>(totals[a]);
    const std::int64_t i = first + y + kSide * a;
    if (i >= p.length) continue;
    store_row<kD>(p.out + (sample * p.length + i) * p.channels + head * p.head_size, sums[a], 1.0F / total, p.head_size,
                  x);
    if (x == 0) p.log_sum_exp[(sample * p.heads + head) * p.length + i] = largest[a] * kLn2 + logf(total);
  }
}

template <int kD>
void launch_forward(const AttentionForward& p, std::int64_t samples, cudaStream_t stream) {
  using Sizes = TileSizes<kD>;
  constexpr std::size_t kBytes = (3 * Sizes::kTileFloats + Sizes::kScoreFloats) * sizeof(float);
  const dim3 grid = attention_grid(blocks_for(p.length, Sizes::kTile), p.heads, samples);
  allow_shared_memory(attend<kD>, kBytes);
  cuda_check(launch(attend<kD>, grid, dim3(kAttentionThreads), kBytes, stream, p));
}

}  // namespace

void causal_attention_forward(Array out, Array log_sum_exp, ConstArray qkv, std::int64_t samples, int heads,
                              const Dropout& dropout, Context context) {
  if (qkv.count() == 0) return;
  if (is_reduced_float(qkv.dtype)) {
    return attention_on_tensor_cores(out, log_sum_exp, qkv, samples, heads, dropout, context);
  }
  const int head_size = head_size_of(out, heads);
  const AttentionForward p{.out = out.as<float>(),
                           .log_sum_exp = log_sum_exp.as<float>(),
                           .qkv = qkv.as<float>(),
                           .dropout = rule_of(dropout),
                           .length = qkv.rows / samples,
                           .channels = out.columns,
                           .heads = heads,
                           .head_size = head_size,
                           .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_size))),
                           .is_aligned = are_rows_aligned<float>(head_size, qkv.data)};
  on_padded_head_size(head_size,
                      [&](auto padded) { launch_forward<decltype(padded)::value>(p, samples, context.stream); });
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
