// Matrix product, rung 5 of 6: every load and store moves four floats.
//
// A [M, K] times B [K, N] = C [M, N], all row-major. A block of 256 threads makes 128 x 128 elements of C. N and K are
// multiples of 4, so that each row begins at a 16-byte boundary; M is any.
// Removes: three quarters of the load instructions, and the bank conflicts of rung 4 (see float4_tile.cuh).
// Pays: the multipliers wait while the next tile comes from device memory, and twice per step at a barrier.
#include "float4_tile.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::matrix_product {

namespace {

__global__ void __launch_bounds__(kThreads)
    vectorised_kernel(float* c, const float* a, const float* b, ProductSizes sizes) {
  __shared__ Tiles tiles;
  OwnSums own;
  for (int begin = 0; begin < sizes.k; begin += kDepth) {
    put(tiles, fetch(a, b, sizes, begin));
    __syncthreads();
    own.multiply(tiles);
    __syncthreads();
  }
  own.store(c, sizes);
}

}  // namespace

void vectorised(float* c, const float* a, const float* b, ProductSizes sizes, cudaStream_t stream) {
  const dim3 grid(pieces(sizes.n, kTile), pieces(sizes.m, kTile));
  vectorised_kernel<<<grid, kThreads, 0, stream>>>(c, a, b, sizes);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::matrix_product
