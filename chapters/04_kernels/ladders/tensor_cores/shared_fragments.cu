// Tensor cores, rung 2 of 4: tiles in shared memory, and an instruction that distributes them to the lanes.
//
// A [M, K] times the transpose of B [N, K] = C [M, N]; A and B bfloat16, C and all sums float32. A block of 4 warps
// makes 64 x 64 elements of C, stepping through K by 32. K is a multiple of 8, so that groups of 16 bytes begin at
// 16-byte boundaries; M and N are any.
// Removes: seven of eight reads of device memory, and the gathering of pairs: ldmatrix hands four 8 x 8 matrices to 32
// lanes at once.
// Pays: every tile travels through registers, and the tensor cores wait for it.
#include "warp_tile.cuh"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::tensor_cores {

namespace {

__device__ void load(Tile& tile, const Source& source) {
  source.for_own_groups(tile, [](__nv_bfloat16* to, const __nv_bfloat16* from) {
    const uint4 zeros = {0, 0, 0, 0};
    *reinterpret_cast<uint4*>(to) = from == nullptr ? zeros : *reinterpret_cast<const uint4*>(from);
  });
}

__global__ void __launch_bounds__(kThreads)
    shared_fragments_kernel(float* c, const __nv_bfloat16* a, const __nv_bfloat16* b, ProductSizes sizes) {
  __shared__ Tile tile_a, tile_b;
  const int row = blockIdx.y * kTile, column = blockIdx.x * kTile;
  WarpSums own;
  for (int k = 0; k < sizes.k; k += kDepth) {
    load(tile_a, {a, sizes.m, sizes.k, row, k});
    load(tile_b, {b, sizes.n, sizes.k, column, k});
    __syncthreads();
    own.multiply(tile_a, tile_b);
    __syncthreads();
  }
  own.store(c, sizes);
}

}  // namespace

void shared_fragments(float* c, const __nv_bfloat16* a, const __nv_bfloat16* b, ProductSizes sizes,
                      cudaStream_t stream) {
  const dim3 grid(pieces(sizes.n, kTile), pieces(sizes.m, kTile));
  shared_fragments_kernel<<<grid, kThreads, 0, stream>>>(c, a, b, sizes);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::tensor_cores
