// Softmax, rung 1 of 5: a thread per row, three passes over it.
//
// in [rows, columns] -> out [rows, columns], exp(x - max) / sum of exp(x - max) in each row. 128 threads per block.
// Traffic: 3 reads and 1 write of 4 bytes per value, all of them uncoalesced: neighbouring lanes are in neighbouring
// rows, so a request of a warp touches 32 sectors for 32 floats.
#include "../registry.hpp"
#include "../warp.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::softmax {

namespace {

constexpr int kThreads = 128;

__global__ void three_passes_kernel(float* out, const float* in, int rows, int columns) {
  const int row = blockIdx.x * kThreads + threadIdx.x;
  if (row >= rows) return;
  const float* x = in + row * columns;
  float* y = out + row * columns;

  float largest = -INFINITY;
  for (int i = 0; i < columns; ++i) largest = fmaxf(largest, x[i]);
  float sum = 0;
  for (int i = 0; i < columns; ++i) sum += expf(x[i] - largest);  // terms are at most 1, so nothing overflows
  for (int i = 0; i < columns; ++i) y[i] = expf(x[i] - largest) / sum;
}

}  // namespace

void three_passes(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  three_passes_kernel<<<pieces(rows, kThreads), kThreads, 0, stream>>>(out, in, rows, columns);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::softmax
