// Matrix product, rung 6 of 6: the next tile is fetched while the current one is multiplied.
//
// A [M, K] times B [K, N] = C [M, N], all row-major. A block of 256 threads makes 128 x 128 elements of C. N and K are
// multiples of 4, so that each row begins at a 16-byte boundary; M is any.
// Removes: waiting for device memory. The next 8 floats travel to registers while 512 multiplications run, and then to
// the second pair of tiles; nobody is reading that pair, so one barrier per step is enough. Bound: 2 M N K operations
// against the float32 units. cuBLAS also tunes tile shapes by size, splits K if C is small, and uses tensor cores (the
// ladder tensor_cores).
#include "float4_tile.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::matrix_product {

namespace {

__global__ void __launch_bounds__(kThreads)
    double_buffered_kernel(float* c, const float* a, const float* b, ProductSizes sizes) {
  __shared__ Tiles tiles[2];
  OwnSums own;
  put(tiles[0], fetch(a, b, sizes, 0));
  __syncthreads();
  int current = 0;
  for (int begin = 0; begin < sizes.k; begin += kDepth) {
    const bool has_next = begin + kDepth < sizes.k;
    Fetched next = {};
    if (has_next) next = fetch(a, b, sizes, begin + kDepth);  // needed only after the multiplications
    own.multiply(tiles[current]);
    if (has_next) put(tiles[1 - current], next);
    __syncthreads();
    current = 1 - current;
  }
  own.store(c, sizes);
}

}  // namespace

void double_buffered(float* c, const float* a, const float* b, ProductSizes sizes, cudaStream_t stream) {
  const dim3 grid(pieces(sizes.n, kTile), pieces(sizes.m, kTile));
  double_buffered_kernel<<<grid, kThreads, 0, stream>>>(c, a, b, sizes);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::matrix_product
