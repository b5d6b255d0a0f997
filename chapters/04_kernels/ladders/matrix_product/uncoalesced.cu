// Matrix product, rung 1 of 6: a thread per element of C; the lanes of a warp lie in a column of C.
//
// A [M, K] times B [K, N] = C [M, N], all row-major. Blocks of 32 x 8 threads, any sizes.
// Traffic per multiplication: 8 bytes, in theory. A warp's 32 lanes read 32 rows of A, K floats apart: 32 sectors of 32
// bytes for 32 useful floats, and storing C costs as much. Seven eighths of the traffic is wasted.
#include "../registry.hpp"
#include "../warp.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::matrix_product {

namespace {

constexpr int kRows = 32, kColumns = 8;

__global__ void uncoalesced_kernel(float* c, const float* a, const float* b, ProductSizes sizes) {
  const int row = blockIdx.x * kRows + threadIdx.x;  // neighbouring lanes: neighbouring rows
  const int column = blockIdx.y * kColumns + threadIdx.y;
  if (row >= sizes.m || column >= sizes.n) return;
  float sum = 0;
  for (int k = 0; k < sizes.k; ++k) sum += a[row * sizes.k + k] * b[k * sizes.n + column];
  c[row * sizes.n + column] = sum;
}

}  // namespace

void uncoalesced(float* c, const float* a, const float* b, ProductSizes sizes, cudaStream_t stream) {
  const dim3 grid(pieces(sizes.m, kRows), pieces(sizes.n, kColumns));
  uncoalesced_kernel<<<grid, dim3(kRows, kColumns), 0, stream>>>(c, a, b, sizes);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::matrix_product
