// Softmax, rung 3 of 5: maximum and sum in the same pass.
//
// in [rows, columns] -> out [rows, columns]. 4 warps per block, one row each; any sizes.
// Removes: one of three reads of each value. running.cuh explains how to keep a sum while its maximum still changes.
// Pays: 4 bytes per load instruction; two reads.
#include "../registry.hpp"
#include "running.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::softmax {

namespace {

constexpr int kWarps = 4;

__global__ void online_kernel(float* out, const float* in, int rows, int columns) {
  const int lane = threadIdx.x, row = blockIdx.x * kWarps + threadIdx.y;
  if (row >= rows) return;
  const float* x = in + row * columns;
  float* y = out + row * columns;

  Running own;
  for (int i = lane; i < columns; i += kWarp) own.add(x[i]);
  const Running all = over_warp(own);
  for (int i = lane; i < columns; i += kWarp) y[i] = expf(x[i] - all.largest) / all.sum;
}

}  // namespace

void online(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  online_kernel<<<pieces(rows, kWarps), dim3(kWarp, kWarps), 0, stream>>>(out, in, rows, columns);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::softmax
