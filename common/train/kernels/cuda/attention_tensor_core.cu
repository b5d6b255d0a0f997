// Causal attention, forward, in bfloat16 or float16 on tensor cores: like attention_forward.cu, with scores and
// probabilities in registers. Letters: B samples, T positions, H heads, C channels, D = C / H padded to kD; i: query,
// j: key.
// @source Dao, "FlashAttention-2", ICLR 2024, algorithm 1.
#include "device/fast_math.hpp"
#include "kernels/cuda/attention.hpp"
#include "kernels/cuda/attention_core_gradients.cuh"
#include "kernels/cuda/attention_core_products.cuh"
#include "kernels/cuda/operations.hpp"
#include "kernels/cuda/random.cuh"
#include "kernels/cuda/sums.cuh"
#include "kernels/cuda/types.cuh"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

namespace {

/// Pointers and sizes of one call on elements of type S.
template <typename S>
struct CoreForward {
  S* out;              // [B, T, C]
  float* log_sum_exp;  // [B, H, T]
  const S* qkv;        // [B, T, 3C]
  DropoutRule dropout;
  std::int64_t length, channels;
  int heads, head_size;
  float scale;  // log2(e) / sqrt(D)
  bool is_aligned;
};

/// The running softmax of the two rows (g and g + 8) that a lane shares with its three neighbours.
struct RowState {
  float largest[2] = {-kInfinity, -kInfinity};
  float totals[2] = {};  // of this lane's columns
};

/// Turns scores of 16 x 64 into 2^(score scale - largest); rescales the earlier sums. Elements 2 r and 2 r + 1 of each
/// part belong to row g + 8 r, keys 8 part + 2 t and the next.
template <int kD>
__device__ inline void exponentiate(float (&s)[kCoreParts][4], float (&sums)[kD / 8][4], RowState& state, float scale) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float largest = s[0][2 * r];
#pragma unroll
    for (int part = 0; part < kCoreParts; ++part) largest = fmaxf(largest, fmaxf(s[part][2 * r], s[part][2 * r + 1]));
    largest = fmaxf(state.largest[r], warp_maximum<4>(largest) * scale);
    const float shrink = device::exp2_approximate(state.largest[r] - largest);
    state.largest[r] = largest;
    state.totals[r] *= shrink;
#pragma unroll
    for (int c = 0; c < kD / 8; ++c) {
      sums[c][2 * r] *= shrink;
      sums[c][2 * r + 1] *= shrink;
    }
#pragma unroll
    for (int part = 0; part < kCoreParts; ++part) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        s[part][2 * r + e] = device::exp2_approximate(fmaf(s[part][2 * r + e], scale, -largest));
        state.totals[r] += s[part][2 * r + e];
      }
    }
  }
}

/// Drops probabilities. Keys 16 apart share Philox blocks: parts of one parity.
__device__ inline void drop(float (&s)[kCoreParts][4], const DropoutRule& rule, std::uint64_t sample_id,
                            std::int64_t first_element, std::int64_t length) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
#pragma unroll
    for (int parity = 0; parity < 2; ++parity) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        float factors[kCoreParts / 2];
        strided_factors(factors, rule, sample_id, first_element + 8 * r * length + 8 * parity + e);
#pragma unroll
        for (int k = 0; k < kCoreParts / 2; ++k) {
          s[2 * k + parity][2 * r + e] = thinned(s[2 * k + parity][2 * r + e], factors[k]);
        }
      }
    }
  }
}

/// Divides the sums by the softmax's denominators and writes rows i and i + 8.
template <int kD, typename S>
__device__ inline void write_rows(const CoreForward<S>& p, const float (&sums)[kD / 8][4], const RowState& state,
                                  std::int64_t sample, std::int64_t head, std::int64_t i) {
  const int t = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float total = warp_sum<4>(state.totals[r]);
    const std::int64_t row = i + 8 * r;
    if (row >= p.length) continue;
    S* const to = p.out + (sample * p.length + row) * p.channels + head * p.head_size;
    const float factor = 1.0F / total;
#pragma unroll
    for (int c = 0; c < kD / 8; ++c) {
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        const int column = 8 * c + 2 * t + e;
        if (column < p.head_size) to[column] = narrowed<S>(sums[c][2 * r + e] * factor);
      }
    }
    if (t == 0) p.log_sum_exp[(sample * p.heads + head) * p.length + row] = state.largest[r] * kLn2 + logf(total);
  }
}

/// One tile of 64 queries, 16 a warp, against all keys that it sees.
///
/// Launch: (tiles of T, H, B) blocks of 128; shared memory for five tiles of 64 x kD: queries, and two of keys and
/// values each, so that the next ones arrive (cp.async) while these are multiplied. Traffic: reads q once and k, v once
/// for each tile of queries that sees them (from the second-level cache), writes out once. Requires compute
/// capability 8.0.
template <int kD, typename S>
__global__ void __launch_bounds__(kCoreThreads) attend_on_tensor_cores(CoreForward<S> p) {
  constexpr int kTileElements = kCoreTile * kCoreStride<kD>;
  S* const queries = dynamic_shared<S>();
  S* const keys = queries + kTileElements;     // [2] tiles
  S* const values = keys + 2 * kTileElements;  // [2] tiles
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize, warp = static_cast<int>(threadIdx.x) / kWarpSize;
  const int g = lane / 4, t = lane % 4;
  const std::int64_t head = blockIdx.y, sample = blockIdx.z;
  const std::int64_t tile = gridDim.x - 1 - blockIdx.x, first = tile * kCoreTile, stride = 3 * p.channels;
  const S* const packed_rows = p.qkv + sample * p.length * stride + head * p.head_size;
  const auto copy_keys = [&](std::int64_t step) {
    const std::int64_t begin = step * kCoreTile, at = step % 2 * kTileElements;
    const S* const from = packed_rows + begin * stride + p.channels;
    copy_core_tile<kD>(keys + at, from, stride, p.length - begin, p.head_size, p.is_aligned);
    copy_core_tile<kD>(values + at, from + p.channels, stride, p.length - begin, p.head_size, p.is_aligned);
    device::cp_async_commit();
  };
  copy_core_tile<kD>(queries, packed_rows + first * stride, stride, p.length - first, p.head_size, p.is_aligned);
  copy_keys(0);

  const int row = 16 * warp + g;
  const std::int64_t i = first + row;  // the lane's rows are queries i and i + 8
  device::cp_async_wait<0>();
  __syncthreads();  // queries have arrived
  const LeftRows<kD, S> own_queries(queries + 16 * warp * kCoreStride<kD>);
  float sums[kD / 8][4] = {};
  RowState state;
  for (std::int64_t step = 0; step <= tile; ++step) {
    device::cp_async_wait<0>();
    __syncthreads();  // this step's tiles have arrived, and all have read those before, which the next ones replace
    if (step < tile) copy_keys(step + 1);
    float s[kCoreParts][4];
    multiply_core_rows<kD>(s, own_queries, keys + step % 2 * kTileElements);
    if (step == tile) hide_later_keys<1, -1>(s, row - 2 * t);
    exponentiate<kD>(s, sums, state, p.scale);
    if (p.dropout.sample_ids != nullptr) {
      drop(s, p.dropout, static_cast<std::uint64_t>(p.dropout.sample_ids[sample]),
           (head * p.length + i) * p.length + step * kCoreTile + 2 * t, p.length);
    }
    add_weighted_core_rows<kD>(sums, s, values + step % 2 * kTileElements);
  }

  write_rows<kD>(p, sums, state, sample, head, i);
}

template <typename S>
void launch_on_tensor_cores(Array out, Array log_sum_exp, ConstArray qkv, std::int64_t samples, int heads,
                            const Dropout& dropout, Context context) {
  const int head_size = head_size_of(out, heads);
  const CoreForward<S> p{.out = out.as<S>(),
                         .log_sum_exp = log_sum_exp.as<float>(),
                         .qkv = qkv.as<S>(),
                         .dropout = rule_of(dropout),
                         .length = qkv.rows / samples,
                         .channels = out.columns,
                         .heads = heads,
                         .head_size = head_size,
                         .scale = kLog2E / std::sqrt(static_cast<float>(head_size)),
                         .is_aligned = are_rows_aligned<S>(head_size, qkv.data)};
  const dim3 grid = attention_grid(blocks_for(p.length, kCoreTile), heads, samples);
  on_padded_head_size(head_size, [&](auto padded) {
    constexpr int kD = decltype(padded)::value;
    constexpr std::size_t kBytes = 5 * std::size_t{kCoreTile} * kCoreStride<kD> * sizeof(S);
    allow_shared_memory(attend_on_tensor_cores<kD, S>, kBytes);
    cuda_check(launch(attend_on_tensor_cores<kD, S>, grid, dim3(kCoreThreads), kBytes, context.stream, p));
  });
}

}  // namespace

void attention_on_tensor_cores(Array out, Array log_sum_exp, ConstArray qkv, std::int64_t samples, int heads,
                               const Dropout& dropout, Context context) {
  on_reduced_type(qkv, [&](auto zero) {
    launch_on_tensor_cores<decltype(zero)>(out, log_sum_exp, qkv, samples, heads, dropout, context);
  });
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
