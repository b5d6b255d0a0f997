// Tensor cores, rung 1 of 4: a warp multiplies 16 x 16 by 16 x 8 numbers with one instruction.
//
// A [M, K] times the transpose of B [N, K] = C [M, N]; A and B bfloat16, C and all sums float32. 4 warps per block,
// each with 16 x 8 elements of C. K is a multiple of 8; M and N are any. One instruction, 4096 operations: 32 lanes
// hold parts of the three matrices in their registers, by a fixed layout. With g = lane / 4 and p = 2 (lane % 4) a lane
// holds A's rows g and g + 8 at p, p + 1, p + 8, p + 9, B's row g at the same places, and C's rows g and g + 8 at
// columns p, p + 1.
// Source: NVIDIA, PTX ISA, "Matrix fragments for mma.m16n8k16 with floating point type".
// Pays: pairs of 4 bytes, fetched again from device memory for every 16 x 8 elements: the tensor core waits.
#include <cuda_bf16.h>

#include "../registry.hpp"
#include "../warp.cuh"
#include "device/tensor_core.hpp"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::tensor_cores {

namespace {

constexpr int kWarps = 4, kRows = 16, kColumns = 8, kDepth = 16;

// Two neighbours in a row as one register; zeros past the end of the matrix.
__device__ unsigned pair_at(const __nv_bfloat16* matrix, int row, int column, int rows, int columns) {
  if (row >= rows || column >= columns) return 0;
  return *reinterpret_cast<const unsigned*>(matrix + row * columns + column);
}

__device__ void store(float* c, ProductSizes sizes, int row, int column, float value) {
  if (row < sizes.m && column < sizes.n) c[row * sizes.n + column] = value;
}

__global__ void fragments_from_memory_kernel(float* c, const __nv_bfloat16* a, const __nv_bfloat16* b,
                                             ProductSizes sizes) {
  const int group = threadIdx.x / 4, pair = 2 * (threadIdx.x % 4);
  const int row = blockIdx.y * kRows + group, column = (blockIdx.x * kWarps + threadIdx.y) * kColumns;
  float sums[4] = {};
  for (int k = pair; k < sizes.k + pair; k += kDepth) {  // as many steps for all lanes: the instruction needs them all
    const unsigned of_a[4] = {pair_at(a, row, k, sizes.m, sizes.k), pair_at(a, row + 8, k, sizes.m, sizes.k),
                              pair_at(a, row, k + 8, sizes.m, sizes.k), pair_at(a, row + 8, k + 8, sizes.m, sizes.k)};
    const unsigned of_b[2] = {pair_at(b, column + group, k, sizes.n, sizes.k),
                              pair_at(b, column + group, k + 8, sizes.n, sizes.k)};
    device::mma_m16n8k16_bf16(sums, of_a, of_b, sums);
  }
  store(c, sizes, row, column + pair, sums[0]);
  store(c, sizes, row, column + pair + 1, sums[1]);
  store(c, sizes, row + 8, column + pair, sums[2]);
  store(c, sizes, row + 8, column + pair + 1, sums[3]);
}

}  // namespace

void fragments_from_memory(float* c, const __nv_bfloat16* a, const __nv_bfloat16* b, ProductSizes sizes,
                           cudaStream_t stream) {
  const dim3 grid(pieces(sizes.n, kWarps * kColumns), pieces(sizes.m, kRows));
  fragments_from_memory_kernel<<<grid, dim3(kWarp, kWarps), 0, stream>>>(c, a, b, sizes);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::tensor_cores
