// Transpose, rung 3 of 4: the tile has 33 words per row.
//
// in [rows, columns] -> out [columns, rows]. Blocks of 32 x 8 threads, each thread 4 elements; any sizes.
// Removes: the bank conflicts. With 33 words per row the words of a column are 33 apart, and their banks are 0, 1, 2
// ... 31: one pass. The last word of each row is never used.
// Pays: 128 bytes of shared memory per tile, and rows that no longer begin at 16-byte boundaries.
#include "../registry.hpp"
#include "../warp.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::transpose {

namespace {

constexpr int kTile = 32, kThreadRows = 8;

__global__ void padded_kernel(float* out, const float* in, int rows, int columns) {
  __shared__ float tile[kTile][kTile + 1];
  const int x = threadIdx.x, first_row = blockIdx.y * kTile, first_column = blockIdx.x * kTile;
  for (int y = threadIdx.y; y < kTile; y += kThreadRows) {
    const int row = first_row + y, column = first_column + x;
    if (row < rows && column < columns) tile[y][x] = in[row * columns + column];
  }
  __syncthreads();
  for (int y = threadIdx.y; y < kTile; y += kThreadRows) {
    const int row = first_row + x, column = first_column + y;  // x and y are swapped, so out is written by rows
    if (row < rows && column < columns) out[column * rows + row] = tile[x][y];
  }
}

}  // namespace

void padded(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  const dim3 grid(pieces(columns, kTile), pieces(rows, kTile));
  padded_kernel<<<grid, dim3(kTile, kThreadRows), 0, stream>>>(out, in, rows, columns);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::transpose
