// Causal attention, backward, in bfloat16 on tensor cores: like attention_backward.cu, one kernel for the gradients of
// keys and values and one for those of queries, so that no two blocks add to one element; scores, probabilities and
// their gradients stay in registers, because the fragments of one product are the left factor of the next. Letters: B
// samples, T positions, H heads, C channels, D = C / H padded to kD; i: query, j: key.
// @source Dao, "FlashAttention-2", ICLR 2024, algorithm 2.
#include "kernels/cuda/attention.hpp"
#include "kernels/cuda/attention_core_gradients.cuh"
#include "kernels/cuda/attention_core_products.cuh"
#include "kernels/cuda/operations.hpp"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

namespace {

/// Columns of scores that are in registers at a time: 8 a part.
constexpr int kParts = 4;

/// Blocks that should fit on a multiprocessor, without spills; 0 leaves the registers to the compiler. Measured on an
/// H200: 0.247 ms with these, 0.267 without.
template <int kD, bool kDrops>
constexpr int kKeyBlocks = kD == 64 && !kDrops ? 3 : 0;
template <int kD, bool kDrops>
constexpr int kQueryBlocks = kD == 64 && !kDrops ? 4 : 0;

template <int kD>
constexpr int kTileElements = kCoreTile* kCoreStride<kD>;

/// Gradients of one tile of 64 keys and values, 16 a warp, over all queries that see them.
///
/// Launch: (tiles of T, H, B) blocks of 128; shared memory for six tiles of 64 x kD: keys, values, and two of queries
/// and of gradients each, so that the next ones arrive (cp.async) while these are multiplied. Traffic: reads k, v once,
/// q and out_gradient once for each tile of keys that they see (from the second-level cache), writes both gradients
/// once. Four tile products. Requires compute capability 8.0.
template <int kD, bool kDrops, typename S>
__global__ void __launch_bounds__(kCoreThreads, (kKeyBlocks<kD, kDrops>))
    attend_backward_keys_on_tensor_cores(CoreBackward<S> p) {
  S* const keys = dynamic_shared<S>();
  S* const values = keys + kTileElements<kD>;
  S* const queries = values + kTileElements<kD>;                                                       // [2] tiles
  S* const out_gradients = queries + 2 * kTileElements<kD>;                                            // [2] tiles
  auto* const statistics = reinterpret_cast<QueryStatistics*>(out_gradients + 2 * kTileElements<kD>);  // [2, 64]
  const Place place = place_of(std::int64_t{blockIdx.x});
  const std::int64_t first = place.tile * kCoreTile, stride = 3 * p.channels, tiles = gridDim.x;
  const std::int64_t first_row = place.sample * p.length, column = place.head * p.head_size;
  const S* const packed_rows = p.qkv + first_row * stride + column;
  const auto copy_queries = [&](std::int64_t step) {
    const std::int64_t begin = step * kCoreTile, at = step % 2 * kTileElements<kD>, valid = p.length - begin;
    copy_core_tile<kD>(queries + at, packed_rows + begin * stride, stride, valid, p.head_size, p.is_aligned);
    copy_core_tile<kD>(out_gradients + at, p.out_gradient + (first_row + begin) * p.channels + column, p.channels,
                       valid, p.head_size, p.is_aligned);
    device::cp_async_commit();
  };
  const int own_query = static_cast<int>(threadIdx.x);  // this thread reads its statistics, if the tile has it
  const auto statistics_at = [&](std::int64_t step) {
    return statistics_of(p, place, own_query < kCoreTile ? step * kCoreTile + own_query : p.length);
  };
  const S* const own_rows = packed_rows + first * stride;
  copy_core_tile<kD>(keys, own_rows + p.channels, stride, p.length - first, p.head_size, p.is_aligned);
  copy_core_tile<kD>(values, own_rows + 2 * p.channels, stride, p.length - first, p.head_size, p.is_aligned);
  copy_queries(place.tile);
  if (own_query < kCoreTile) statistics[place.tile % 2 * kCoreTile + own_query] = statistics_at(place.tile);
  device::cp_async_wait<0>();
  __syncthreads();  // keys and values have arrived
  const LeftRows<kD, S> own_keys(keys + 16 * place.warp * kCoreStride<kD>);
  const LeftRows<kD, S> own_values(values + 16 * place.warp * kCoreStride<kD>);

  float key_sums[kD / 8][4] = {}, value_sums[kD / 8][4] = {};
  for (std::int64_t step = place.tile; step < tiles; ++step) {
    device::cp_async_wait<0>();
    __syncthreads();  // this step's tiles have arrived, and all have read those before, which the next ones replace
    QueryStatistics next{};
    if (step + 1 < tiles) {
      copy_queries(step + 1);
      next = statistics_at(step + 1);
    }
    const S* const query_tile = queries + step % 2 * kTileElements<kD>;
    const S* const gradient_tile = out_gradients + step % 2 * kTileElements<kD>;
#pragma unroll 1
    for (int begin = 0; begin < kCoreTile; begin += 8 * kParts) {
      float scores[kParts][4], gradients[kParts][4];  // of keys g, g + 8 and queries 8 part + 2 t, 8 part + 2 t + 1
      const S* const query_rows = query_tile + begin * kCoreStride<kD>;
      const S* const gradient_rows = gradient_tile + begin * kCoreStride<kD>;
      multiply_core_rows<kD>(scores, own_keys, query_rows);
      multiply_core_rows<kD>(gradients, own_values, gradient_rows);
      const int row = 16 * place.warp + place.g, first_column = begin + 2 * place.t;
      if (step == place.tile) hide_later_keys<-1, 1>(scores, first_column - row);
      const QueryStatistics* const from = statistics + step % 2 * kCoreTile + first_column;
      const std::int64_t i = step * kCoreTile + first_column, j = first + row;
      differentiate_columns<kDrops>(scores, gradients, p, place, from, i, j);
      add_weighted_core_rows<kD>(value_sums, scores, gradient_rows);
      add_weighted_core_rows<kD>(key_sums, gradients, query_rows);
    }
    if (step + 1 < tiles && own_query < kCoreTile) statistics[(step + 1) % 2 * kCoreTile + own_query] = next;
  }

  const std::int64_t begin = first + 16 * place.warp;
  S* const to = p.qkv_gradient + (first_row + begin) * stride + column;
  write_core_rows<kD>(to + p.channels, key_sums, p.scale, p, place, p.length - begin);
  write_core_rows<kD>(to + 2 * p.channels, value_sums, 1.0F, p, place, p.length - begin);
}

/// Gradients of one tile of 64 queries, 16 a warp, over all keys that they see.
///
/// Launch and shared memory: as attend_backward_keys_on_tensor_cores, with two tiles of keys and of values each. The
/// blocks with the most keys come first. Traffic: reads q and out_gradient once, k and v once for each tile of queries
/// that sees them, writes the gradient once. Three tile products. Requires compute capability 8.0.
template <int kD, bool kDrops, typename S>
__global__ void __launch_bounds__(kCoreThreads, (kQueryBlocks<kD, kDrops>))
    attend_backward_queries_on_tensor_cores(CoreBackward<S> p) {
  S* const queries = dynamic_shared<S>();
  S* const out_gradients = queries + kTileElements<kD>;
  S* const keys = out_gradients + kTileElements<kD>;  // [2] tiles
  S* const values = keys + 2 * kTileElements<kD>;     // [2] tiles
  const Place place = place_of(std::int64_t{gridDim.x} - 1 - blockIdx.x);
  const std::int64_t first = place.tile * kCoreTile, stride = 3 * p.channels;
  const std::int64_t first_row = place.sample * p.length, column = place.head * p.head_size;
  const S* const packed_rows = p.qkv + first_row * stride + column;
  const auto copy_keys = [&](std::int64_t step) {
    const std::int64_t begin = step * kCoreTile, at = step % 2 * kTileElements<kD>, valid = p.length - begin;
    const S* const from = packed_rows + begin * stride + p.channels;
    copy_core_tile<kD>(keys + at, from, stride, valid, p.head_size, p.is_aligned);
    copy_core_tile<kD>(values + at, from + p.channels, stride, valid, p.head_size, p.is_aligned);
    device::cp_async_commit();
  };
  copy_core_tile<kD>(queries, packed_rows + first * stride, stride, p.length - first, p.head_size, p.is_aligned);
  copy_core_tile<kD>(out_gradients, p.out_gradient + (first_row + first) * p.channels + column, p.channels,
                     p.length - first, p.head_size, p.is_aligned);
  copy_keys(0);
  const int row = 16 * place.warp + place.g;
  const std::int64_t i = first + row;
  const QueryStatistics statistics[2] = {statistics_of(p, place, i), statistics_of(p, place, i + 8)};
  device::cp_async_wait<0>();
  __syncthreads();  // queries and gradients have arrived
  const LeftRows<kD, S> own_queries(queries + 16 * place.warp * kCoreStride<kD>);
  const LeftRows<kD, S> own_gradients(out_gradients + 16 * place.warp * kCoreStride<kD>);

  float sums[kD / 8][4] = {};
  for (std::int64_t step = 0; step <= place.tile; ++step) {
    device::cp_async_wait<0>();
    __syncthreads();  // this step's tiles have arrived, and all have read those before, which the next ones replace
    if (step < place.tile) copy_keys(step + 1);
    const S* const key_tile = keys + step % 2 * kTileElements<kD>;
    const S* const value_tile = values + step % 2 * kTileElements<kD>;
#pragma unroll 1
    for (int begin = 0; begin < kCoreTile; begin += 8 * kParts) {
      float scores[kParts][4], gradients[kParts][4];  // of queries g, g + 8 and keys 8 part + 2 t, 8 part + 2 t + 1
      const S* const key_rows = key_tile + begin * kCoreStride<kD>;
      multiply_core_rows<kD>(scores, own_queries, key_rows);
      multiply_core_rows<kD>(gradients, own_gradients, value_tile + begin * kCoreStride<kD>);
      const int first_column = begin + 2 * place.t;
      if (step == place.tile) hide_later_keys<1, -1>(scores, row - first_column);
      const std::int64_t j = step * kCoreTile + first_column;
      differentiate_rows<kDrops>(scores, gradients, p, place, statistics, i, j);
      add_weighted_core_rows<kD>(sums, gradients, key_rows);
    }
  }

  const std::int64_t begin = first + 16 * place.warp;
  write_core_rows<kD>(p.qkv_gradient + (first_row + begin) * stride + column, sums, p.scale, p, place,
                      p.length - begin);
}

template <int kD, bool kDrops, typename S>
void launch_backward(const CoreBackward<S>& p, std::int64_t samples, cudaStream_t stream) {
  constexpr std::size_t kBytes = 6 * std::size_t{kTileElements<kD>} * sizeof(S);
  constexpr std::size_t kKeysBytes = kBytes + 2 * kCoreTile * sizeof(QueryStatistics);
  const dim3 grid = attention_grid(blocks_for(p.length, kCoreTile), p.heads, samples), block(kCoreThreads);
  const auto keys = attend_backward_keys_on_tensor_cores<kD, kDrops, S>;
  allow_shared_memory(keys, kKeysBytes);
  cuda_check(launch(keys, grid, block, kKeysBytes, stream, p));
  const auto queries = attend_backward_queries_on_tensor_cores<kD, kDrops, S>;
  allow_shared_memory(queries, kBytes);
  cuda_check(launch(queries, grid, block, kBytes, stream, p));
}

}  // namespace

void attention_backward_on_tensor_cores(Array qkv_gradient, ConstArray out_gradient, const float* deltas,
                                        ConstArray log_sum_exp, ConstArray qkv, std::int64_t samples, int heads,
                                        const Dropout& dropout, Context context) {
  using S = BFloat16;
  const int head_size = head_size_of(out_gradient, heads);
  const CoreBackward<S> p{.qkv_gradient = qkv_gradient.as<S>(),
                          .out_gradient = out_gradient.as<S>(),
                          .log_sum_exp = log_sum_exp.as<float>(),
                          .deltas = deltas,
                          .qkv = qkv.as<S>(),
                          .dropout = rule_of(dropout),
                          .length = qkv.rows / samples,
                          .channels = out_gradient.columns,
                          .heads = heads,
                          .head_size = head_size,
                          .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_size))),
                          .is_aligned = are_rows_aligned<S>(head_size, qkv_gradient.data, qkv.data, out_gradient.data)};
  on_padded_head_size(head_size, [&](auto padded) {
    constexpr int kD = decltype(padded)::value;
    if (p.dropout.sample_ids == nullptr) return launch_backward<kD, false>(p, samples, context.stream);
    launch_backward<kD, true>(p, samples, context.stream);
  });
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
