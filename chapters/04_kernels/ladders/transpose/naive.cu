// Transpose, rung 1 of 4: out[column, row] = in[row, column], a thread per element.
//
// in [rows, columns] -> out [columns, rows]. Blocks of 32 x 8 threads, each thread 4 elements; any sizes.
// Traffic: 4 bytes read and 4 written per element. A warp reads a row (4 sectors) and writes a column: 32 sectors,
// using one eighth of each. Reading columns instead would only move the problem.
#include "../registry.hpp"
#include "../warp.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::transpose {

namespace {

constexpr int kTile = 32, kThreadRows = 8;

__global__ void naive_kernel(float* out, const float* in, int rows, int columns) {
  const int column = blockIdx.x * kTile + threadIdx.x;
  for (int y = threadIdx.y; y < kTile; y += kThreadRows) {
    const int row = blockIdx.y * kTile + y;
    if (row < rows && column < columns) out[column * rows + row] = in[row * columns + column];
  }
}

}  // namespace

void naive(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  const dim3 grid(pieces(columns, kTile), pieces(rows, kTile));
  naive_kernel<<<grid, dim3(kTile, kThreadRows), 0, stream>>>(out, in, rows, columns);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::transpose
