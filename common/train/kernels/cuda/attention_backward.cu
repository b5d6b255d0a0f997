// Causal attention, backward, in float32 arithmetic: for float32, and for float16, whose range may be too small for
// gradients of probabilities. Probabilities are recomputed from log_sum_exp. The gradients of keys and values need all
// queries that see them, the gradient of a query all keys that it sees: one kernel for each, so that no two blocks add
// to one element. That makes 7 tile products instead of 5, the price of a fixed order of sums. Letters: B samples, T
// positions, H heads, C channels, D = C / H; i: query, j: key.
// @source Dao, "FlashAttention-2", ICLR 2024, algorithm 2.
#include "kernels/cuda/attention.hpp"
#include "kernels/cuda/attention_tiles.cuh"
#include "kernels/cuda/operations.hpp"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

namespace {

/// Pointers and sizes of one call.
template <typename S>
struct AttentionBackward {
  S* qkv_gradient;           // [B, T, 3C]
  const S* out_gradient;     // [B, T, C]
  const float* log_sum_exp;  // [B, H, T]
  const S* qkv;              // [B, T, 3C]
  const float* deltas;       // [B, H, T]: out_gradient . out of a head
  DropoutRule dropout;
  std::int64_t samples, length, channels;
  int heads, head_size;
  float scale;  // 1 / sqrt(D)
  bool is_aligned;
};

/// Blocks that share a processor. On Hopper two fit into its shared memory, and 128 registers a thread cost no float32
/// kernel a spill; on other GPUs they would.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
constexpr int kBlocksOfProcessor = 2;
#else
constexpr int kBlocksOfProcessor = 0;  // as many as the compiler likes
#endif

/// A thread's data for one query.
struct QueryRow {
  float log_sum_exp;  // of base 2
  float delta;
  bool is_valid;
};

template <typename S>
__device__ inline QueryRow query_row(const AttentionBackward<S>& p, std::int64_t sample, std::int64_t head,
                                     std::int64_t i) {
  if (i >= p.length) return {0.0F, 0.0F, false};
  const std::int64_t at = (sample * p.heads + head) * p.length + i;
  return {p.log_sum_exp[at] * kLog2E, p.deltas[at], true};
}

/// Gradients of one tile of keys and values, over all queries that see it.
///
/// Launch: (tiles of T, H, B) blocks of 256; shared memory for four tiles and their scores. A thread's rows are keys,
/// its columns queries. Traffic: reads k, v once, q and out_gradient once for each tile of keys that they see (from the
/// second-level cache), writes both gradients once. Four tile products.
template <int kD, typename S>
__global__ void __launch_bounds__(kAttentionThreads, kBlocksOfProcessor) attend_backward_keys(AttentionBackward<S> p) {
  using Sizes = TileSizes<kD>;
  constexpr int kTile = Sizes::kTile, kPart = Sizes::kPart;
  float* const keys = dynamic_shared<float>();
  float* const values = keys + Sizes::kTileFloats;
  float* const queries = values + Sizes::kTileFloats;
  float* const out_gradients = queries + Sizes::kTileFloats;
  float* const scores = out_gradients + Sizes::kTileFloats;
  const int x = static_cast<int>(threadIdx.x) % kSide, y = static_cast<int>(threadIdx.x) / kSide;
  const std::int64_t head = blockIdx.y, sample = blockIdx.z, first = std::int64_t{blockIdx.x} * kTile;
  const std::int64_t stride = 3 * p.channels, first_row = sample * p.length, column = head * p.head_size;
  const S* const packed = p.qkv + first_row * stride + column;
  const bool is_dropping = p.dropout.sample_ids != nullptr;
  const std::uint64_t sample_id = is_dropping ? static_cast<std::uint64_t>(p.dropout.sample_ids[sample]) : 0;
  float key_sums[kPart][kD / kSide] = {}, value_sums[kPart][kD / kSide] = {};
  const std::int64_t valid = p.length - first;
  load_tile<kD>(keys, packed + first * stride + p.channels, stride, valid, p.head_size, p.is_aligned);
  load_tile<kD>(values, packed + first * stride + 2 * p.channels, stride, valid, p.head_size, p.is_aligned);

  for (std::int64_t begin = first; begin < p.length; begin += kTile) {
    __syncthreads();  // all have read the previous tiles
    load_tile<kD>(queries, packed + begin * stride, stride, p.length - begin, p.head_size, p.is_aligned,
                  p.scale * kLog2E);
    load_tile<kD>(out_gradients, p.out_gradient + (first_row + begin) * p.channels + column, p.channels,
                  p.length - begin, p.head_size, p.is_aligned);
    __syncthreads();
    float probabilities[kPart][kPart], gradients[kPart][kPart];  // [key][query]
    multiply_tiles<kD>(probabilities, keys, queries, x, y);
    multiply_tiles<kD>(gradients, values, out_gradients, x, y);
#pragma unroll
    for (int b = 0; b < kPart; ++b) {
      const std::int64_t i = begin + x + kSide * b;
      const QueryRow query = query_row(p, sample, head, i);
      float factors[kPart];
#pragma unroll
      for (int a = 0; a < kPart; ++a) factors[a] = 1.0F;
      if (is_dropping && query.is_valid) {
        strided_factors(factors, p.dropout, sample_id, (head * p.length + i) * p.length + first + y);
      }
#pragma unroll
      for (int a = 0; a < kPart; ++a) {
        const bool is_seen = query.is_valid && first + y + kSide * a <= i;
        const float probability = is_seen ? exp2f(probabilities[a][b] - query.log_sum_exp) : 0.0F;
        gradients[a][b] = is_seen ? probability * (thinned(gradients[a][b], factors[a]) - query.delta) : 0.0F;
        scores[(y + kSide * a) * Sizes::kScoreStride + x + kSide * b] = thinned(probability, factors[a]);
      }
    }
    __syncwarp();  // a row's scores are written and read by one half of a warp
    add_weighted_rows<kD>(value_sums, scores, out_gradients, x, y);
    __syncwarp();
#pragma unroll
    for (int a = 0; a < kPart; ++a) {
#pragma unroll
      for (int b = 0; b < kPart; ++b) scores[(y + kSide * a) * Sizes::kScoreStride + x + kSide * b] = gradients[a][b];
    }
    __syncwarp();
    add_weighted_rows<kD>(key_sums, scores, queries, x, y);
  }

#pragma unroll
  for (int a = 0; a < kPart; ++a) {
    const std::int64_t j = first + y + kSide * a;
    if (j >= p.length) continue;
    S* const to = p.qkv_gradient + (first_row + j) * stride + column;
    store_row<kD>(to + p.channels, key_sums[a], kLn2, p.head_size, x);  // queries carry the scale and log2 e
    store_row<kD>(to + 2 * p.channels, value_sums[a], 1.0F, p.head_size, x);
  }
}

/// Gradients of one tile of queries, over all keys that it sees.
///
/// Launch and shared memory: as attend_backward_keys; a thread's rows are queries, its columns keys. Traffic: reads q
/// and out_gradient once, k and v once for each tile of queries that sees them, writes the gradient once. Three tile
/// products.
template <int kD, typename S>
__global__ void __launch_bounds__(kAttentionThreads, kBlocksOfProcessor)
    attend_backward_queries(AttentionBackward<S> p) {
  using Sizes = TileSizes<kD>;
  constexpr int kTile = Sizes::kTile, kPart = Sizes::kPart;
  float* const queries = dynamic_shared<float>();
  float* const out_gradients = queries + Sizes::kTileFloats;
  float* const keys = out_gradients + Sizes::kTileFloats;
  float* const values = keys + Sizes::kTileFloats;
  float* const scores = values + Sizes::kTileFloats;
  const int x = static_cast<int>(threadIdx.x) % kSide, y = static_cast<int>(threadIdx.x) / kSide;
  const std::int64_t head = blockIdx.y, sample = blockIdx.z, tile = gridDim.x - 1 - blockIdx.x, first = tile * kTile;
  const std::int64_t stride = 3 * p.channels, first_row = sample * p.length, column = head * p.head_size;
  const S* const packed = p.qkv + first_row * stride + column;
  const bool is_dropping = p.dropout.sample_ids != nullptr;
  const std::uint64_t sample_id = is_dropping ? static_cast<std::uint64_t>(p.dropout.sample_ids[sample]) : 0;
  float sums[kPart][kD / kSide] = {};
  QueryRow rows[kPart];
#pragma unroll
  for (int a = 0; a < kPart; ++a) rows[a] = query_row(p, sample, head, first + y + kSide * a);
  load_tile<kD>(queries, packed + first * stride, stride, p.length - first, p.head_size, p.is_aligned,
                p.scale * kLog2E);
  load_tile<kD>(out_gradients, p.out_gradient + (first_row + first) * p.channels + column, p.channels, p.length - first,
                p.head_size, p.is_aligned);

  for (std::int64_t begin = 0; begin <= first; begin += kTile) {
    __syncthreads();  // all have read the previous tiles
    const S* const from = packed + begin * stride + p.channels;
    load_tile<kD>(keys, from, stride, p.length - begin, p.head_size, p.is_aligned);
    load_tile<kD>(values, from + p.channels, stride, p.length - begin, p.head_size, p.is_aligned);
    __syncthreads();
    float probabilities[kPart][kPart], gradients[kPart][kPart];  // [query][key]
    multiply_tiles<kD>(probabilities, queries, keys, x, y);
    multiply_tiles<kD>(gradients, out_gradients, values, x, y);
#pragma unroll
    for (int a = 0; a < kPart; ++a) {
      const std::int64_t i = first + y + kSide * a;
      float factors[kPart];
#pragma unroll
      for (int b = 0; b < kPart; ++b) factors[b] = 1.0F;
      if (is_dropping && rows[a].is_valid) {
        strided_factors(factors, p.dropout, sample_id, (head * p.length + i) * p.length + begin + x);
      }
#pragma unroll
      for (int b = 0; b < kPart; ++b) {
        const bool is_seen = rows[a].is_valid && begin + x + kSide * b <= i;
        const float probability = is_seen ? exp2f(probabilities[a][b] - rows[a].log_sum_exp) : 0.0F;
        scores[(y + kSide * a) * Sizes::kScoreStride + x + kSide * b] =
            is_seen ? probability * (thinned(gradients[a][b], factors[b]) - rows[a].delta) : 0.0F;
      }
    }
    __syncwarp();  // a row's scores are written and read by one half of a warp
    add_weighted_rows<kD>(sums, scores, keys, x, y);
  }

#pragma unroll
  for (int a = 0; a < kPart; ++a) {
    const std::int64_t i = first + y + kSide * a;
    if (i < p.length)
      store_row<kD>(p.qkv_gradient + (first_row + i) * stride + column, sums[a], p.scale, p.head_size, x);
  }
}

template <int kD, typename S>
void launch_backward(const AttentionBackward<S>& p, cudaStream_t stream) {
  using Sizes = TileSizes<kD>;
  constexpr std::size_t kBytes = (4 * Sizes::kTileFloats + Sizes::kScoreFloats) * sizeof(float);
  const dim3 grid = attention_grid(blocks_for(p.length, Sizes::kTile), p.heads, p.samples);
  allow_shared_memory(attend_backward_keys<kD, S>, kBytes);
  cuda_check(launch(attend_backward_keys<kD, S>, grid, dim3(kAttentionThreads), kBytes, stream, p));
  allow_shared_memory(attend_backward_queries<kD, S>, kBytes);
  cuda_check(launch(attend_backward_queries<kD, S>, grid, dim3(kAttentionThreads), kBytes, stream, p));
}

}  // namespace

void causal_attention_backward(Array qkv_gradient, ConstArray out_gradient, ConstArray out, ConstArray log_sum_exp,
                               ConstArray qkv, std::int64_t samples, int heads, const Dropout& dropout,
                               Context context) {
  if (qkv.count() == 0) return;
  const float* const deltas = attention_deltas(out_gradient, out, samples, heads, context);
  if (qkv.dtype == DType::kBFloat16) {
    return attention_backward_on_tensor_cores(qkv_gradient, out_gradient, deltas, log_sum_exp, qkv, samples, heads,
                                              dropout, context);
  }
  const auto run = [&](auto zero) {
    using S = decltype(zero);
    const int head_size = head_size_of(out, heads);
    const AttentionBackward<S> p{.qkv_gradient = qkv_gradient.as<S>(),
                                 .out_gradient = out_gradient.as<S>(),
                                 .log_sum_exp = log_sum_exp.as<float>(),
                                 .qkv = qkv.as<S>(),
                                 .deltas = deltas,
                                 .dropout = rule_of(dropout),
                                 .samples = samples,
                                 .length = qkv.rows / samples,
                                 .channels = out.columns,
                                 .heads = heads,
                                 .head_size = head_size,
                                 .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_size))),
                                 .is_aligned = are_rows_aligned<S>(head_size, qkv.data, out_gradient.data)};
    on_padded_head_size(head_size, [&](auto padded) { launch_backward<decltype(padded)::value>(p, context.stream); });
  };
  if (qkv.dtype == DType::kFloat16) return run(Float16{});
  run(float{});
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
