// Transpose, rung 4 of 4: the words of a row are permuted instead.
//
// in [rows, columns] -> out [columns, rows]. Blocks of 32 x 8 threads, each thread 4 elements; any sizes.
// Removes: the padding. Word x of row y is kept at x xor y. For a fixed row this is a permutation of the 32 banks, and
// for a fixed column too: rows and columns both take one pass. Tiles for tensor cores use this, because their rows
// cannot have an odd length.
// Traffic: 4 bytes read and 4 written per element, all in full sectors: bound by memory bandwidth.
#include "../registry.hpp"
#include "../warp.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::transpose {

namespace {

constexpr int kTile = 32, kThreadRows = 8;

__global__ void swizzled_kernel(float* out, const float* in, int rows, int columns) {
  __shared__ float tile[kTile][kTile];
  const int x = threadIdx.x, first_row = blockIdx.y * kTile, first_column = blockIdx.x * kTile;
  for (int y = threadIdx.y; y < kTile; y += kThreadRows) {
    const int row = first_row + y, column = first_column + x;
    if (row < rows && column < columns) tile[y][x ^ y] = in[row * columns + column];
  }
  __syncthreads();
  for (int y = threadIdx.y; y < kTile; y += kThreadRows) {
    const int row = first_row + x, column = first_column + y;  // x and y are swapped, so out is written by rows
    if (row < rows && column < columns) out[column * rows + row] = tile[x][y ^ x];
  }
}

}  // namespace

void swizzled(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  const dim3 grid(pieces(columns, kTile), pieces(rows, kTile));
  swizzled_kernel<<<grid, dim3(kTile, kThreadRows), 0, stream>>>(out, in, rows, columns);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::transpose
