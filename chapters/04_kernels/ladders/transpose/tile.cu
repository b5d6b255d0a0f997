// Transpose, rung 2 of 4: a block transposes a 32 x 32 tile in shared memory.
//
// in [rows, columns] -> out [columns, rows]. Blocks of 32 x 8 threads, each thread 4 elements; any sizes.
// Removes: uncoalesced stores. The tile is read by rows and written by rows; the transposition happens in shared
// memory, which has no sectors to waste.
// Pays: a warp reads a column of the tile, 32 words that are 32 words apart. They all lie in the same bank of shared
// memory, which hands out one at a time: 32 passes for one request.
#include "../registry.hpp"
#include "../warp.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::transpose {

namespace {

constexpr int kTile = 32, kThreadRows = 8;

__global__ void tile_kernel(float* out, const float* in, int rows, int columns) {
  __shared__ float tile[kTile][kTile];
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

void tile(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  const dim3 grid(pieces(columns, kTile), pieces(rows, kTile));
  tile_kernel<<<grid, dim3(kTile, kThreadRows), 0, stream>>>(out, in, rows, columns);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::transpose
