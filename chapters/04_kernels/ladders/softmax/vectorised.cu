// Softmax, rung 4 of 5: four values per load and store.
//
// in [rows, columns] -> out [rows, columns]. 4 warps per block, one row each; columns is a multiple of 4, so that each
// row begins at a 16-byte boundary.
// Removes: three quarters of the load and store instructions. With 16 bytes in flight per lane instead of 4, fewer
// warps keep the memory busy.
// Pays: two reads of each value.
#include "../registry.hpp"
#include "running.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::softmax {

namespace {

constexpr int kWarps = 4;

__global__ void vectorised_kernel(float* out, const float* in, int rows, int columns) {
  const int lane = threadIdx.x, row = blockIdx.x * kWarps + threadIdx.y;
  if (row >= rows) return;
  const float4* x = reinterpret_cast<const float4*>(in + row * columns);
  float4* y = reinterpret_cast<float4*>(out + row * columns);
  const int groups = columns / 4;

  Running own;
  for (int i = lane; i < groups; i += kWarp) {
    const float4 four = x[i];
    own.add(four.x);
    own.add(four.y);
    own.add(four.z);
    own.add(four.w);
  }
  const Running all = over_warp(own);
  const float scale = 1.0F / all.sum;  // one division per row instead of one per value
  for (int i = lane; i < groups; i += kWarp) {
    const float4 four = x[i];
    y[i] = {expf(four.x - all.largest) * scale, expf(four.y - all.largest) * scale, expf(four.z - all.largest) * scale,
            expf(four.w - all.largest) * scale};
  }
}

}  // namespace

void vectorised(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  vectorised_kernel<<<pieces(rows, kWarps), dim3(kWarp, kWarps), 0, stream>>>(out, in, rows, columns);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::softmax
