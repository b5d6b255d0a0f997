#pragma once
/// @file
/// What a lane does with scores in the backward pass of attention on tensor cores. A lane has the elements (g, 2 t),
/// (g, 2 t + 1), (g + 8, 2 t) and (g + 8, 2 t + 1) of each part of 16 x 8 scores, g = lane / 4, t = lane % 4.
#include "device/fast_math.hpp"
#include "kernels/cuda/attention.hpp"
#include "kernels/cuda/attention_tensor_core.cuh"
#include "kernels/cuda/random.cuh"
#include "kernels/cuda/sums.cuh"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

/// Pointers and sizes of one call on elements of type S.
template <typename S>
struct CoreBackward {
  S* qkv_gradient;           // [B, T, 3C]
  const S* out_gradient;     // [B, T, C]
  const float* log_sum_exp;  // [B, H, T]
  const float* deltas;       // [B, H, T]
  const S* qkv;              // [B, T, 3C]
  DropoutRule dropout;
  std::int64_t length, channels;
  int heads, head_size;
  float scale;  // 1 / sqrt(D)
  bool is_aligned;
};

/// Two numbers of a query that the gradients of its scores need.
struct alignas(8) QueryStatistics {
  float log_sum_exp;  // of base 2; infinite for a row of padding, whose probabilities are thus 0
  float delta;
};

/// The work of a block and of a lane.
struct Place {
  std::int64_t sample, head, tile;
  int warp, g, t;
};

__device__ inline Place place_of(std::int64_t tile) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize, warp = static_cast<int>(threadIdx.x) / kWarpSize;
  return {std::int64_t{blockIdx.z}, std::int64_t{blockIdx.y}, tile, warp, lane / 4, lane % 4};
}

template <typename S>
__device__ inline QueryStatistics statistics_of(const CoreBackward<S>& p, const Place& place, std::int64_t i) {
  if (i >= p.length) return {kInfinity, 0.0F};
  const std::int64_t at = (place.sample * p.heads + place.head) * p.length + i;
  return {p.log_sum_exp[at] * kLog2E, p.deltas[at]};
}

/// The factors of query i's probabilities for keys j, j + 16, ...
template <int kCount, typename S>
__device__ inline void get_factors(float (&factors)[kCount], const CoreBackward<S>& p, const Place& place,
                                   std::int64_t i, std::int64_t j) {
  const auto sample_id = static_cast<std::uint64_t>(p.dropout.sample_ids[place.sample]);
  strided_factors(factors, p.dropout, sample_id, (place.head * p.length + i) * p.length + j);
}

/// Turns a score into its probability, thinned, and the gradient of that into the gradient of the score.
template <bool kDrops>
__device__ inline void differentiate(float& score, float& gradient, const QueryStatistics& query, float scale,
                                     float factor) {
  const float probability = device::exp2_approximate(score * scale - query.log_sum_exp);
  if constexpr (kDrops) gradient = thinned(gradient, factor);
  gradient = probability * (gradient - query.delta);
  score = kDrops ? thinned(probability, factor) : probability;
}

/// differentiate() for keys in rows and queries in columns. The lane's first elements are of key j, query i; `queries`
/// begins at i. A lane's keys belong to different Philox blocks, so each element takes one.
template <bool kDrops, int kParts, typename S>
__device__ inline void differentiate_columns(float (&scores)[kParts][4], float (&gradients)[kParts][4],
                                             const CoreBackward<S>& p, const Place& place,
                                             const QueryStatistics* queries, std::int64_t i, std::int64_t j) {
#pragma unroll
  for (int part = 0; part < kParts; ++part) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const QueryStatistics query = queries[8 * part + e];
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float factor[1] = {1.0F};
        if constexpr (kDrops) get_factors(factor, p, place, i + 8 * part + e, j + 8 * r);
        differentiate<kDrops>(scores[part][2 * r + e], gradients[part][2 * r + e], query, p.scale * kLog2E, factor[0]);
      }
    }
  }
}

/// differentiate() for queries i and i + 8 in rows and keys in columns, the lane's first of which is j. Keys 16 apart
/// share Philox blocks: parts of one parity.
template <bool kDrops, int kParts, typename S>
__device__ inline void differentiate_rows(float (&scores)[kParts][4], float (&gradients)[kParts][4],
                                          const CoreBackward<S>& p, const Place& place,
                                          const QueryStatistics (&queries)[2], std::int64_t i, std::int64_t j) {
#pragma unroll
  for (int at = 0; at < 8; ++at) {
    const int r = at / 4, parity = at / 2 % 2, e = at % 2;
    float factors[kParts / 2] = {};
    if constexpr (kDrops) get_factors(factors, p, place, i + 8 * r, j + 8 * parity + e);
#pragma unroll
    for (int k = 0; k < kParts / 2; ++k) {
      const int part = 2 * k + parity;
      differentiate<kDrops>(scores[part][2 * r + e], gradients[part][2 * r + e], queries[r], p.scale * kLog2E,
                            factors[k]);
    }
  }
}

/// Hides the scores whose key comes after their query; kRowStep and kColumnStep are what a row and a column further add
/// to query - key. `distance`: that of the lane's first element.
template <int kRowStep, int kColumnStep, int kParts>
__device__ inline void hide_later_keys(float (&scores)[kParts][4], int distance) {
#pragma unroll
  for (int part = 0; part < kParts; ++part) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      if (distance + e / 2 * 8 * kRowStep + (8 * part + e % 2) * kColumnStep < 0) scores[part][e] = -kInfinity;
    }
  }
}

/// Writes factor * sums to rows g and g + 8 of 16, of which `valid` exist.
template <int kD, typename S>
__device__ inline void write_core_rows(S* rows, const float (&sums)[kD / 8][4], float factor, const CoreBackward<S>& p,
                                       const Place& place, std::int64_t valid) {
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = place.g + 8 * r;
    if (row >= valid) continue;
    S* const to = rows + row * 3 * p.channels;
#pragma unroll
    for (int c = 0; c < kD / 8; ++c) {
      const int column = 8 * c + 2 * place.t;
      const Floats<2> pair{sums[c][2 * r] * factor, sums[c][2 * r + 1] * factor};
      if (p.is_aligned) {
        if (column < p.head_size) store<2>(to, column, pair);
      } else {
        for (int e = 0; e < 2; ++e) {
          if (column + e < p.head_size) to[column + e] = narrowed<S>(pair.at[e]);
        }
      }
    }
  }
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
