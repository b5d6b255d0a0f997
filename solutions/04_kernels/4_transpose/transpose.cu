#include "04_kernels/4_transpose/transpose.hpp"

namespace lockstep::kernels {

namespace {

constexpr int kTile = 32;       // rows and columns of the piece that a block transposes
constexpr int kThreadRows = 8;  // a block has 32 x 8 threads, and each thread 4 elements of the tile

// Block (x, y) transposes the tile whose first element is in[y * kTile, x * kTile]. Tiles at the right and lower edges
// of the matrix may reach beyond it.
__global__ void transpose_kernel(float* out, const float* in, int rows, int columns) {
  // SOLUTION(04.4): read a tile by rows into shared memory, then write it by rows of the output; mind banks and edges
  __shared__ float tile[kTile][kTile + 1];  // rows of 33 words, so that the words of a column lie in different banks
  const int first_row = blockIdx.y * kTile, first_column = blockIdx.x * kTile;
  const int x = threadIdx.x;  // the lane: neighbouring lanes access neighbouring elements, in both loops
  for (int y = threadIdx.y; y < kTile; y += kThreadRows) {
    const int row = first_row + y, column = first_column + x;
    if (row < rows && column < columns) tile[y][x] = in[row * columns + column];
  }
  __syncthreads();
  for (int y = threadIdx.y; y < kTile; y += kThreadRows) {
    const int row = first_row + x, column = first_column + y;  // a row of the output is a column of the input
    if (row < rows && column < columns) out[column * rows + row] = tile[x][y];
  }
  // END SOLUTION
}

}  // namespace

void transpose(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  // SOLUTION(04.4) transpose: launch the kernel with a block of kTile x kThreadRows threads for each tile
  const dim3 tiles((columns + kTile - 1) / kTile, (rows + kTile - 1) / kTile);
  transpose_kernel<<<tiles, dim3(kTile, kThreadRows), 0, stream>>>(out, in, rows, columns);
  // END SOLUTION
}

}  // namespace lockstep::kernels
