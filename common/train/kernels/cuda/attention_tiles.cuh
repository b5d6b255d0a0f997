#pragma once
/// @file
/// Tiles of attention in float32, shared by its forward and backward kernels.
///
/// A block has 16 x 16 threads. In a tile of kTile x kTile scores, thread (x, y) owns rows y + 16 a and columns
/// x + 16 b. The 16 threads of a row are half a warp, so they exchange data without a block barrier, and columns 16
/// apart share Philox blocks (kernels/cuda/random.cuh).
///
/// Letters: T positions, C channels, D channels of a head, padded with zeros to kD.
#include "kernels/cuda/attention.hpp"
#include "kernels/cuda/launching.cuh"
#include "kernels/cuda/packs.cuh"
#include "kernels/cuda/random.cuh"
#include "kernels/cuda/sums.cuh"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

inline constexpr int kSide = 16;
inline constexpr int kAttentionThreads = kSide * kSide;

/// Sizes that follow from kD. Tiles shrink for large heads: four of them and the scores take 87 KB at most, which every
/// GPU since compute capability 8.0 has.
template <int kD>
struct TileSizes {
  static constexpr int kTile = kD > 64 ? 32 : 64;  // rows of a tile
  static constexpr int kPart = kTile / kSide;      // rows, and columns, of a thread
  static constexpr int kStride = kD + 4;           // of a tile's rows: 8 lanes' float4 fall into different banks
  static constexpr int kScoreStride = kTile + 4;   // of a row of scores
  static constexpr int kVector = kD / kSide < 4 ? kD / kSide : 4;
  static constexpr int kTileFloats = kTile * kStride;
  static constexpr int kScoreFloats = kTile * kScoreStride;
};

/// tile[r, c] = factor * from[r, c] for r < valid and c < head_size, else 0.
template <int kD, typename S, int W>
__device__ inline void load_tile_packs(float* tile, const S* from, std::int64_t stride, std::int64_t valid,
                                       int head_size, float factor) {
  using Sizes = TileSizes<kD>;
  constexpr int kPacks = kD / W;
  for (int pack = static_cast<int>(threadIdx.x); pack < Sizes::kTile * kPacks; pack += kAttentionThreads) {
    const int row = pack / kPacks, c = pack % kPacks * W;
    Floats<W> values{};
    if (row < valid && c < head_size) values = load<W>(from, row * stride + c);
#pragma unroll
    for (int k = 0; k < W; ++k) values.at[k] *= factor;
    store(tile, row * Sizes::kStride + c, values);
  }
}

template <int kD, typename S>
__device__ inline void load_tile(float* tile, const S* from, std::int64_t stride, std::int64_t valid, int head_size,
                                 bool is_aligned, float factor = 1.0F) {
  if (is_aligned) {
    load_tile_packs<kD, S, kPackWidth<S>>(tile, from, stride, valid, head_size, factor);
  } else {
    load_tile_packs<kD, S, 1>(tile, from, stride, valid, head_size, factor);
  }
}

/// products[a][b] = rows[y + 16 a] . columns[x + 16 b], both [kTile, kD].
template <int kD>
__device__ inline void multiply_tiles(float (&products)[TileSizes<kD>::kPart][TileSizes<kD>::kPart], const float* rows,
                                      const float* columns, int x, int y) {
  using Sizes = TileSizes<kD>;
  constexpr int kPart = Sizes::kPart;
#pragma unroll
  for (int a = 0; a < kPart; ++a) {
#pragma unroll
    for (int b = 0; b < kPart; ++b) products[a][b] = 0.0F;
  }
#pragma unroll 4
  for (int d = 0; d < kD; d += 4) {
    Floats<4> left[kPart], right[kPart];
#pragma unroll
    for (int a = 0; a < kPart; ++a) left[a] = load<4>(rows, (y + kSide * a) * Sizes::kStride + d);
#pragma unroll
    for (int b = 0; b < kPart; ++b) right[b] = load<4>(columns, (x + kSide * b) * Sizes::kStride + d);
#pragma unroll
    for (int a = 0; a < kPart; ++a) {
#pragma unroll
      for (int b = 0; b < kPart; ++b) {
#pragma unroll
        for (int k = 0; k < 4; ++k) products[a][b] += left[a].at[k] * right[b].at[k];
      }
    }
  }
}

/// sums[a][...] += scores[y + 16 a] times rows [kTile, kD]; the thread's columns are kVector neighbours in each
/// group of 16 kVector.
template <int kD>
__device__ inline void add_weighted_rows(float (&sums)[TileSizes<kD>::kPart][kD / kSide], const float* scores,
                                         const float* rows, int x, int y) {
  using Sizes = TileSizes<kD>;
  constexpr int kVector = Sizes::kVector;
#pragma unroll 2
  for (int j = 0; j < Sizes::kTile; j += 4) {
    Floats<4> weights[Sizes::kPart];
#pragma unroll
    for (int a = 0; a < Sizes::kPart; ++a) weights[a] = load<4>(scores, (y + kSide * a) * Sizes::kScoreStride + j);
#pragma unroll
    for (int n = 0; n < 4; ++n) {
#pragma unroll
      for (int c = 0; c < kD / kSide; c += kVector) {
        const Floats<kVector> values = load<kVector>(rows, (j + n) * Sizes::kStride + kSide * c + x * kVector);
#pragma unroll
        for (int a = 0; a < Sizes::kPart; ++a) {
#pragma unroll
          for (int k = 0; k < kVector; ++k) sums[a][c + k] += weights[a].at[n] * values.at[k];
        }
      }
    }
  }
}

/// Writes factor * one of the thread's rows of sums to a row of D elements.
template <int kD, typename S>
__device__ inline void store_row(S* to, const float (&sums)[kD / kSide], float factor, int head_size, int x) {
  constexpr int kVector = TileSizes<kD>::kVector;
#pragma unroll
  for (int c = 0; c < kD / kSide; ++c) {
    const int column = kSide * (c / kVector * kVector) + x * kVector + c % kVector;
    if (column < head_size) to[column] = narrowed<S>(sums[c] * factor);
  }
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
