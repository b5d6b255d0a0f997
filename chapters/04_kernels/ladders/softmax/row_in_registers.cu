// Softmax, rung 5 of 5: a row is read once and stays in registers.
//
// in [rows, columns] -> out [rows, columns]. 4 warps per block, one row each. columns is a multiple of 4 and at most
// 1024: 8 groups of four values per lane, 32 registers.
// Removes: the second read, and the rescaling of online softmax: with the row at hand, its maximum comes first.
// Traffic: 4 bytes read and 4 written per value, which is the minimum; bound by memory bandwidth. Longer rows need a
// block per row with the row in shared memory, or rung 4.
#include "../registry.hpp"
#include "../warp_sum.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::softmax {

namespace {

constexpr int kWarps = 4, kGroups = 8;

__device__ float largest_of(float4 four) { return fmaxf(fmaxf(four.x, four.y), fmaxf(four.z, four.w)); }

__device__ float4 exponentials(float4 four, float largest) {
  return {expf(four.x - largest), expf(four.y - largest), expf(four.z - largest), expf(four.w - largest)};
}

__global__ void row_in_registers_kernel(float* out, const float* in, int rows, int columns) {
  const int lane = threadIdx.x, row = blockIdx.x * kWarps + threadIdx.y;
  if (row >= rows) return;
  const float4* x = reinterpret_cast<const float4*>(in + row * columns);
  float4* y = reinterpret_cast<float4*>(out + row * columns);
  const int groups = columns / 4;

  // The loops have a fixed length and are unrolled, so that `own` is a set of registers: an index known only at run
  // time would force it into memory.
  float4 own[kGroups];
  float largest = -INFINITY;
#pragma unroll
  for (int k = 0; k < kGroups; ++k) {
    const int i = lane + k * kWarp;
    own[k] = i < groups ? x[i] : float4{-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    largest = fmaxf(largest, largest_of(own[k]));
  }
  largest = warp_max(largest);

  float sum = 0;
#pragma unroll
  for (int k = 0; k < kGroups; ++k) {
    own[k] = exponentials(own[k], largest);
    sum += (own[k].x + own[k].y) + (own[k].z + own[k].w);
  }
  const float scale = 1.0F / warp_sum(sum);

#pragma unroll
  for (int k = 0; k < kGroups; ++k) {
    const int i = lane + k * kWarp;
    if (i < groups) y[i] = {own[k].x * scale, own[k].y * scale, own[k].z * scale, own[k].w * scale};
  }
}

}  // namespace

void row_in_registers(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  row_in_registers_kernel<<<pieces(rows, kWarps), dim3(kWarp, kWarps), 0, stream>>>(out, in, rows, columns);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::softmax
