#pragma once
/// @file
/// The two kinds of tile products in attention on tensor cores: rows times rows, and weights times rows. A warp's part
/// of the result has 16 rows.
#include "kernels/cuda/attention_tensor_core.cuh"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

/// 16 rows of a tile, [16, kD], as the left factors of products: kept in registers if there is room, else read from
/// shared memory for each product.
template <int kD, typename S>
class LeftRows {
 public:
  /// @param rows  In shared memory, complete.
  __device__ explicit LeftRows(const S* rows) : rows_(rows) {
    if constexpr (kIsKept) {
#pragma unroll
      for (int part = 0; part < kD / 16; ++part) load_left<kD>(kept_[part], rows, part);
    }
  }
  /// Fragments of columns [16 part, 16 part + 16).
  __device__ void get(std::uint32_t (&fragment)[4], int part) const {
    if constexpr (kIsKept) {
#pragma unroll
      for (int k = 0; k < 4; ++k) fragment[k] = kept_[part][k];
    } else {
      load_left<kD>(fragment, rows_, part);
    }
  }

 private:
  static constexpr bool kIsKept = kD <= 64;
  const S* rows_;
  std::uint32_t kept_[kIsKept ? kD / 16 : 1][4];
};

/// products = left times the transpose of 8 kParts rows of a tile.
template <int kD, int kParts, typename S>
__device__ inline void multiply_core_rows(float (&products)[kParts][4], const LeftRows<kD, S>& left_rows,
                                          const S* rows) {
#pragma unroll
  for (int part = 0; part < kParts; ++part) {
#pragma unroll
    for (int e = 0; e < 4; ++e) products[part][e] = 0.0F;
  }
#pragma unroll
  for (int d = 0; d < kD / 16; ++d) {
    std::uint32_t left[4], right[4];
    left_rows.get(left, d);
#pragma unroll
    for (int part = 0; part < kParts; part += 2) {
      load_right_transposed<kD>(right, rows + 8 * part * kCoreStride<kD>, d);
      multiply_pair<S>(products[part], products[part + 1], left, right);
    }
  }
}

/// sums += weights [16, 8 kParts], rounded to S, times as many rows of a tile. The fragments of a product are those of
/// the next one's left factor.
template <int kD, int kParts, typename S>
__device__ inline void add_weighted_core_rows(float (&sums)[kD / 8][4], const float (&weights)[kParts][4],
                                              const S* rows) {
#pragma unroll
  for (int part = 0; part < kParts; part += 2) {
    const std::uint32_t left[4] = {
        packed<S>(weights[part][0], weights[part][1]), packed<S>(weights[part][2], weights[part][3]),
        packed<S>(weights[part + 1][0], weights[part + 1][1]), packed<S>(weights[part + 1][2], weights[part + 1][3])};
#pragma unroll
    for (int c = 0; c < kD / 16; ++c) {
      std::uint32_t right[4];
      load_right<kD>(right, rows + 8 * part * kCoreStride<kD>, c);
      multiply_pair<S>(sums[2 * c], sums[2 * c + 1], left, right);
    }
  }
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
