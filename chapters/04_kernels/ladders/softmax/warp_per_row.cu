// Softmax, rung 2 of 5: a warp per row, its lanes side by side in the row.
//
// in [rows, columns] -> out [rows, columns]. 4 warps per block, one row each; any sizes.
// Removes: 28 of 32 sectors per request. A warp reads 32 neighbouring floats, and finds maximum and sum by shuffles: no
// shared memory, no barrier. And 32 times as many threads work on the same rows.
// Pays: still three reads of each value.
#include "../registry.hpp"
#include "../warp_sum.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::softmax {

namespace {

constexpr int kWarps = 4;

__global__ void warp_per_row_kernel(float* out, const float* in, int rows, int columns) {
  const int lane = threadIdx.x, row = blockIdx.x * kWarps + threadIdx.y;
  if (row >= rows) return;  // for all lanes of the warp or for none: the shuffles below need all 32
  const float* x = in + row * columns;
  float* y = out + row * columns;

  float largest = -INFINITY;
  for (int i = lane; i < columns; i += kWarp) largest = fmaxf(largest, x[i]);
  largest = warp_max(largest);
  float sum = 0;
  for (int i = lane; i < columns; i += kWarp) sum += expf(x[i] - largest);
  sum = warp_sum(sum);
  for (int i = lane; i < columns; i += kWarp) y[i] = expf(x[i] - largest) / sum;
}

}  // namespace

void warp_per_row(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  warp_per_row_kernel<<<pieces(rows, kWarps), dim3(kWarp, kWarps), 0, stream>>>(out, in, rows, columns);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::softmax
