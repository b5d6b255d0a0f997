// Tensor cores, rung 3 of 4: tiles are copied to shared memory asynchronously while others are multiplied.
//
// A [M, K] times the transpose of B [N, K] = C [M, N]; A and B bfloat16, C and all sums float32. A block of 4 warps
// makes 64 x 64 elements of C, stepping through K by 32. K is a multiple of 8; M and N are any.
// Removes: waiting for device memory. cp.async copies 16 bytes without a register in between. The copies of one step
// are committed as a group; before using a tile, a thread waits until at most one later group is in flight, and the
// barrier makes all threads' copies visible to all. Pays: an address for every 16 bytes, and
// registers for every operand; on Hopper, the next rung's instructions need neither.
#include "warp_tile.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::tensor_cores {

namespace {

__device__ void begin_load(Tile& tile, const Source& source) {
  source.for_own_groups(tile, [](__nv_bfloat16* to, const __nv_bfloat16* from) {
    if (from != nullptr)
      device::cp_async16(to, from);
    else
      *reinterpret_cast<uint4*>(to) = {0, 0, 0, 0};
  });
}

__global__ void __launch_bounds__(kThreads)
    asynchronous_copies_kernel(float* c, const __nv_bfloat16* a, const __nv_bfloat16* b, ProductSizes sizes) {
  __shared__ Tile tiles_a[2], tiles_b[2];
  const int row = blockIdx.y * kTile, column = blockIdx.x * kTile;
  begin_load(tiles_a[0], {a, sizes.m, sizes.k, row, 0});
  begin_load(tiles_b[0], {b, sizes.n, sizes.k, column, 0});
  device::cp_async_commit();
  WarpSums own;
  int current = 0;
  for (int k = 0; k < sizes.k; k += kDepth) {
    if (k + kDepth < sizes.k) {
      begin_load(tiles_a[1 - current], {a, sizes.m, sizes.k, row, k + kDepth});
      begin_load(tiles_b[1 - current], {b, sizes.n, sizes.k, column, k + kDepth});
    }
    device::cp_async_commit();  // an empty group at the end, so that "all but one" always means the current tiles
    device::cp_async_wait<1>();
    __syncthreads();
    own.multiply(tiles_a[current], tiles_b[current]);
    __syncthreads();  // the next step's copies overwrite the tiles just read
    current = 1 - current;
  }
  own.store(c, sizes);
}

}  // namespace

void asynchronous_copies(float* c, const __nv_bfloat16* a, const __nv_bfloat16* b, ProductSizes sizes,
                         cudaStream_t stream) {
  const dim3 grid(pieces(sizes.n, kTile), pieces(sizes.m, kTile));
  asynchronous_copies_kernel<<<grid, kThreads, 0, stream>>>(c, a, b, sizes);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::tensor_cores
