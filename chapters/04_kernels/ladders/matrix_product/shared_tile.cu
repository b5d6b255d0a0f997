// Matrix product, rung 3 of 6: a block brings a tile of A and one of B into shared memory and uses each float 32 times.
//
// A [M, K] times B [K, N] = C [M, N], all row-major. Blocks of 32 x 32 threads, any sizes.
// Removes: 31 of 32 reads of device memory. The block reads each 32 x 32 tile once; then each thread works through a
// row of one tile and a column of the other in fast memory.
// Pays: two loads from shared memory for each multiplication; the multiplier waits for them.
#include "../registry.hpp"
#include "../warp.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::matrix_product {

namespace {

constexpr int kTile = 32;

__global__ void shared_tile_kernel(float* c, const float* a, const float* b, ProductSizes sizes) {
  __shared__ float tile_a[kTile][kTile], tile_b[kTile][kTile];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * kTile + y, column = blockIdx.x * kTile + x;
  float sum = 0;
  for (int begin = 0; begin < sizes.k; begin += kTile) {
    const bool has_a = row < sizes.m && begin + x < sizes.k, has_b = begin + y < sizes.k && column < sizes.n;
    tile_a[y][x] = has_a ? a[row * sizes.k + begin + x] : 0.0F;
    tile_b[y][x] = has_b ? b[(begin + y) * sizes.n + column] : 0.0F;
    __syncthreads();  // the tiles are complete
    for (int k = 0; k < kTile; ++k) sum += tile_a[y][k] * tile_b[k][x];
    __syncthreads();  // all threads are done with them
  }
  if (row < sizes.m && column < sizes.n) c[row * sizes.n + column] = sum;
}

}  // namespace

void shared_tile(float* c, const float* a, const float* b, ProductSizes sizes, cudaStream_t stream) {
  const dim3 grid(pieces(sizes.n, kTile), pieces(sizes.m, kTile));
  shared_tile_kernel<<<grid, dim3(kTile, kTile), 0, stream>>>(c, a, b, sizes);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::matrix_product
