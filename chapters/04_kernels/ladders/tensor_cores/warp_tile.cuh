#pragma once
// Shared by the last two rungs: 4 warps make 64 x 64 elements of C, each 32 x 32, from tiles in shared memory.
#include <cuda_bf16.h>

#include "../registry.hpp"
#include "../warp.cuh"
#include "device/tensor_core.hpp"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::tensor_cores {

constexpr int kThreads = 128, kTile = 64, kDepth = 32, kGroup = 8;  // 8 bfloat16 are 16 bytes

// Rows of 40: ldmatrix reads 8 rows of 16 bytes at a time, and 80 bytes from row to row bring them into different
// banks.
constexpr int kPadded = kDepth + kGroup;

struct Tile {
  alignas(16) __nv_bfloat16 rows[kTile][kPadded];
};

// The source of a tile's 256 groups of 8.
struct Source {
  const __nv_bfloat16* matrix;
  int rows, columns;       // of the matrix
  int first_row, first_k;  // of the tile

  // Calls copy(to, from) for this thread's groups of the tile, with null past the end of the matrix.
  template <typename Copy>
  __device__ void for_own_groups(Tile& tile, const Copy& copy) const {
    for (int i = threadIdx.x; i < kTile * kDepth / kGroup; i += kThreads) {
      const int row = i / (kDepth / kGroup), k = i % (kDepth / kGroup) * kGroup;
      const bool is_inside = first_row + row < rows && first_k + k < columns;
      copy(&tile.rows[row][k], is_inside ? matrix + (first_row + row) * columns + first_k + k : nullptr);
    }
  }
};

// 32 x 32 sums of one warp: 2 x 4 results of the matrix instruction, 32 registers a lane.
struct WarpSums {
  float sums[2][4][4] = {};
  int lane = static_cast<int>(threadIdx.x) % kWarp;
  int row = static_cast<int>(threadIdx.x) / kWarp / 2 * 32, column = static_cast<int>(threadIdx.x) / kWarp % 2 * 32;

  __device__ void multiply(const Tile& a, const Tile& b) {
    for (int k = 0; k < kDepth; k += 16) {
      unsigned of_a[2][4], of_b[2][4];
      // Each of the 32 lanes names one row of 8; the instruction spreads 4 matrices of 8 x 8 over the lanes' registers
      // in the layout of the matrix instruction.
      for (int i = 0; i < 2; ++i) {
        device::ldmatrix_x4(of_a[i], &a.rows[row + 16 * i + lane % 16][k + lane / 16 * 8]);
        device::ldmatrix_x4(of_b[i], &b.rows[column + 16 * i + lane / 16 * 8 + lane % 8][k + lane / 8 % 2 * 8]);
      }
      for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 4; ++j) {
          const unsigned pair[2] = {of_b[j / 2][2 * (j % 2)], of_b[j / 2][2 * (j % 2) + 1]};
          device::mma_m16n8k16_bf16(sums[i][j], of_a[i], pair, sums[i][j]);
        }
      }
    }
  }

  __device__ void store(float* c, ProductSizes sizes) const {
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 4; ++j) {
        for (int k = 0; k < 4; ++k) {
          const int c_row = blockIdx.y * kTile + row + 16 * i + lane / 4 + k / 2 * 8;
          const int c_column = blockIdx.x * kTile + column + 8 * j + 2 * (lane % 4) + k % 2;
          if (c_row < sizes.m && c_column < sizes.n) c[c_row * sizes.n + c_column] = sums[i][j][k];
        }
      }
    }
  }
};

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::tensor_cores
