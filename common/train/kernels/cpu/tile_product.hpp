#pragma once
/// @file
/// Small matrix products in registers: the inner loops of attention. Internal to this module.
#include <cstdint>
#include <utility>

#include "kernels/cpu/simd.hpp"
#include "kernels/types.hpp"

namespace lockstep::kernels {

// A tile of 8 rows by 3 vectors uses 24 of AVX-512's 32 registers for sums, enough to hide the latency of two
// multiply-adds per cycle. With 16 registers, half as many rows leave room for a row of b and a factor.
#ifdef __AVX512F__
inline constexpr int kTileRows = 8;
#else
inline constexpr int kTileRows = 4;
#endif
inline constexpr int kTileVectors = 3;

/// The left factor of a tile product: element (r, k) is data[r * row_stride + k * inner_stride], so that a matrix and
/// its transpose are read in place.
template <typename T>
struct TileOperand {
  const T* data;
  std::int64_t row_stride;
  std::int64_t inner_stride;
};

/// out[r][c] (+)= sum over k < inner of a(r, k) * b[k][c], for kTileRows rows and kVectors vectors of columns.
template <Write kWrite, int kVectors, typename T>
inline void tile_product(T* out, std::int64_t out_stride, TileOperand<T> a, const T* b, std::int64_t b_stride,
                         std::int64_t inner) {
  Vector<T> sums[kTileRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      if constexpr (kWrite == Write::kAdd)
        sums[r][v] = load(out + r * out_stride + v * kLanes<T>);
      else
        sums[r][v] = Vector<T>{};
    }
  }
  for (std::int64_t k = 0; k < inner; ++k) {
    Vector<T> right[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) right[v] = load(b + k * b_stride + v * kLanes<T>);
    const T* const left = a.data + k * a.inner_stride;
#pragma GCC unroll 8
    for (int r = 0; r < kTileRows; ++r) {
      const T factor = left[r * a.row_stride];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[r][v] += factor * right[v];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kTileRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) store(out + r * out_stride + v * kLanes<T>, sums[r][v]);
  }
}

/// tile_product over any multiple of the vector length of columns.
template <Write kWrite, typename T>
void row_product(T* out, std::int64_t out_stride, TileOperand<T> a, const T* b, std::int64_t b_stride,
                 std::int64_t inner, std::int64_t columns) {
  std::int64_t vectors = columns / kLanes<T>;
  const auto advance = [&]<int kVectors>(std::integral_constant<int, kVectors>) {
    tile_product<kWrite, kVectors>(out, out_stride, a, b, b_stride, inner);
    out += kVectors * kLanes<T>;
    b += kVectors * kLanes<T>;
    vectors -= kVectors;
  };
  // Split four vectors into two pairs: a single one would wait for the latency of its additions.
  while (vectors >= kTileVectors && vectors != 4) advance(std::integral_constant<int, kTileVectors>{});
  while (vectors >= 2) advance(std::integral_constant<int, 2>{});
  while (vectors >= 1) advance(std::integral_constant<int, 1>{});
}

/// One step of a square transposition in registers: exchanges the off-diagonal blocks of kStep lanes.
template <int kStep, typename T, int... kLane>
inline void transpose_step(Vector<T>* rows, std::integer_sequence<int, kLane...>) {
  constexpr int kCount = sizeof...(kLane);
#pragma GCC unroll 16
  for (int i = 0; i < kCount; ++i) {
    if ((i & kStep) != 0) continue;
    const Vector<T> upper = rows[i], lower = rows[i + kStep];
    rows[i] = __builtin_shufflevector(upper, lower, ((kLane & kStep) != 0 ? kCount + kLane - kStep : kLane)...);
    rows[i + kStep] = __builtin_shufflevector(upper, lower, ((kLane & kStep) != 0 ? kCount + kLane : kLane + kStep)...);
  }
}

/// to = from^T for a square of one vector's length.
template <typename T>
inline void transpose_square(T* to, std::int64_t to_stride, const T* from, std::int64_t from_stride) {
  constexpr int kCount = kLanes<T>;
  constexpr auto kLanesOf = std::make_integer_sequence<int, kCount>{};
  Vector<T> rows[kCount];
#pragma GCC unroll 16
  for (int i = 0; i < kCount; ++i) rows[i] = load(from + i * from_stride);
  transpose_step<1, T>(rows, kLanesOf);
  if constexpr (kCount > 2) transpose_step<2, T>(rows, kLanesOf);
  if constexpr (kCount > 4) transpose_step<4, T>(rows, kLanesOf);
  if constexpr (kCount > 8) transpose_step<8, T>(rows, kLanesOf);
#pragma GCC unroll 16
  for (int i = 0; i < kCount; ++i) store(to + i * to_stride, rows[i]);
}

}  // namespace lockstep::kernels
