#pragma once
// Shared by the last two rungs: tiles that are read and written four floats at a time.
//
// A block of 256 threads makes 128 x 128 elements of C. A's tile is stored transposed, so that a thread's rows are
// contiguous, like its columns. A thread owns two groups of four rows and two of four columns, 64 apart: the 8 lanes
// that are served at a time, with 16 bytes each, then read from 32 different banks.
#include "../registry.hpp"
#include "../warp.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::matrix_product {

constexpr int kThreads = 256, kTile = 128, kDepth = 8, kGroup = 4, kHalf = kTile / 2;

// 4 more floats a row: a warp writes to two rows of the transposed tile, four apart, and 16 places in each. With the
// padding they are in 32 different banks.
constexpr int kPadded = kTile + 4;

// The tiles of one step of 8 along K.
struct Tiles {
  alignas(16) float a[kDepth][kPadded];  // transposed: [k, row of C]
  alignas(16) float b[kDepth][kTile];    // [k, column of C]
};

// One thread's part of both tiles: 128 x 8 floats are 256 groups of four.
struct Fetched {
  float4 a, b;
};

__device__ inline float4 load4(const float* from) { return *reinterpret_cast<const float4*>(from); }

__device__ inline Fetched fetch(const float* a, const float* b, ProductSizes sizes, int begin) {
  const int thread = threadIdx.x;
  const int row = blockIdx.y * kTile + thread / 2, k_of_a = begin + thread % 2 * kGroup;
  const int k_of_b = begin + thread / 32, column = blockIdx.x * kTile + thread % 32 * kGroup;
  const float4 zeros = {0, 0, 0, 0};
  return {row < sizes.m && k_of_a < sizes.k ? load4(a + row * sizes.k + k_of_a) : zeros,
          k_of_b < sizes.k && column < sizes.n ? load4(b + k_of_b * sizes.n + column) : zeros};
}

__device__ inline void put(Tiles& tiles, const Fetched& fetched) {
  const int thread = threadIdx.x, row = thread / 2, k = thread % 2 * kGroup;
  tiles.a[k][row] = fetched.a.x;
  tiles.a[k + 1][row] = fetched.a.y;
  tiles.a[k + 2][row] = fetched.a.z;
  tiles.a[k + 3][row] = fetched.a.w;
  *reinterpret_cast<float4*>(&tiles.b[thread / 32][thread % 32 * kGroup]) = fetched.b;
}

// The 64 sums of one thread, and their places in the block's part of C.
struct OwnSums {
  float sums[8][8] = {};
  int row = static_cast<int>(threadIdx.x) / 16 * kGroup, column = static_cast<int>(threadIdx.x) % 16 * kGroup;

  __device__ void multiply(const Tiles& tiles) {
    for (int k = 0; k < kDepth; ++k) {
      const float4 a0 = load4(&tiles.a[k][row]), a1 = load4(&tiles.a[k][kHalf + row]);
      const float4 b0 = load4(&tiles.b[k][column]), b1 = load4(&tiles.b[k][kHalf + column]);
      const float of_a[8] = {a0.x, a0.y, a0.z, a0.w, a1.x, a1.y, a1.z, a1.w};
      const float of_b[8] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
      for (int i = 0; i < 8; ++i) {
        for (int j = 0; j < 8; ++j) sums[i][j] += of_a[i] * of_b[j];
      }
    }
  }

  __device__ void store(float* c, ProductSizes sizes) const {
    for (int i = 0; i < 8; ++i) {
      const int c_row = blockIdx.y * kTile + i / kGroup * kHalf + row + i % kGroup;
      for (int half = 0; half < 2; ++half) {
        const int c_column = blockIdx.x * kTile + half * kHalf + column;
        if (c_row >= sizes.m || c_column >= sizes.n) continue;
        const float* four = &sums[i][half * kGroup];
        *reinterpret_cast<float4*>(c + c_row * sizes.n + c_column) = make_float4(four[0], four[1], four[2], four[3]);
      }
    }
  }
};

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::matrix_product
