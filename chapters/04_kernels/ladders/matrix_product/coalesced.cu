// Matrix product, rung 2 of 6: still one thread per element, but the lanes of a warp lie along a row of C.
//
// A [M, K] times B [K, N] = C [M, N], all row-major. Blocks of 32 x 8 threads, any sizes.
// Removes: sectors fetched for a single float. 32 lanes read 32 neighbouring floats of B, which are 4 full sectors, and
// one float of A; they store 4 full sectors of C. In the code, only two indices are swapped.
// Pays: every float of A is still fetched by all N threads of its row, and every float of B by all M threads of its
// column: 8 bytes per multiplication.
#include "../registry.hpp"
#include "../warp.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::matrix_product {

namespace {

constexpr int kRows = 8, kColumns = 32;

__global__ void coalesced_kernel(float* c, const float* a, const float* b, ProductSizes sizes) {
  const int row = blockIdx.y * kRows + threadIdx.y;
  const int column = blockIdx.x * kColumns + threadIdx.x;  // neighbouring lanes: neighbouring columns
  if (row >= sizes.m || column >= sizes.n) return;
  float sum = 0;
  for (int k = 0; k < sizes.k; ++k) sum += a[row * sizes.k + k] * b[k * sizes.n + column];
  c[row * sizes.n + column] = sum;
}

}  // namespace

void coalesced(float* c, const float* a, const float* b, ProductSizes sizes, cudaStream_t stream) {
  const dim3 grid(pieces(sizes.n, kColumns), pieces(sizes.m, kRows));
  coalesced_kernel<<<grid, dim3(kColumns, kRows), 0, stream>>>(c, a, b, sizes);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::matrix_product
