// Tensor cores, rung 4 of 4: Hopper's own instructions. One thread orders whole tiles, 128 threads multiply them.
//
// A [M, K] times the transpose of B [N, K] = C [M, N]; A and B bfloat16, C and all sums float32. A block of 2
// warpgroups makes 128 x 128 elements of C, stepping through K by 64; three pairs of tiles are in shared memory. K is a
// multiple of 8; M and N are any: the copy fills with zeros what lies outside of a matrix. Removes: the copies'
// instructions (a thread computed an address for every 16 bytes) and the operands' registers (the tensor cores read the
// tiles where they are). Bound: 2 M N K operations against the tensor cores.
#include <cuda_bf16.h>

#include "../registry.hpp"
#include "../warp.cuh"
#include "device/hopper.hpp"

namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::tensor_cores {

namespace {

constexpr int kThreads = 256, kTile = 128, kDepth = device::kTileColumns, kStages = 3, kSlice = 16;

struct Stage {
  __nv_bfloat16 a[kTile][kDepth];
  __nv_bfloat16 b[kTile][kDepth];
};
constexpr unsigned kSharedBytes = kStages * sizeof(Stage);

struct Place {
  int row, column;  // of the block's first element of C
};

__device__ void order(Stage& stage, device::PhaseBarrier& arrived, const device::TileMap& a, const device::TileMap& b,
                      Place place, int k) {
  device::arrive_expecting(arrived, sizeof(Stage));
  device::copy_tile(stage.a, a, place.row, k, arrived);
  device::copy_tile(stage.b, b, place.column, k, arrived);
}

// This warpgroup's 64 rows of A times all 128 rows of B.
__device__ void multiply(float (&sums)[64], const Stage& stage) {
  const int first_row = threadIdx.x / 128 * 64;
  device::wgmma_fence();
  for (int k = 0; k < kDepth; k += kSlice) device::wgmma_m64n128k16(sums, &stage.a[first_row][k], &stage.b[0][k]);
  device::wgmma_commit();
}

__device__ void store(float* c, ProductSizes sizes, Place place, const float (&sums)[64]) {
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    const int row = place.row + warp * 16 + lane / 4 + i / 2 % 2 * 8;
    const int column = place.column + i / 4 * 8 + lane % 4 * 2 + i % 2;
    if (row < sizes.m && column < sizes.n) c[row * sizes.n + column] = sums[i];
  }
}

__global__ void __launch_bounds__(kThreads)
    whole_tiles_kernel(float* c, const __grid_constant__ device::TileMap a, const __grid_constant__ device::TileMap b,
                       ProductSizes sizes) {
  extern __shared__ __align__(1024) unsigned char memory[];
  __shared__ device::PhaseBarrier arrived[kStages];
  Stage* const stages = reinterpret_cast<Stage*>(memory);
  const Place place = {static_cast<int>(blockIdx.y) * kTile, static_cast<int>(blockIdx.x) * kTile};
  const int steps = pieces(sizes.k, kDepth);
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < kStages; ++stage) device::init_barrier(arrived[stage], 1);
    device::fence_async_proxy();
    for (int step = 0; step < kStages - 1 && step < steps; ++step)
      order(stages[step], arrived[step], a, b, place, step * kDepth);
  }
  __syncthreads();
  float sums[64] = {};
  for (int step = 0; step < steps; ++step) {
    const int stage = step % kStages;
    device::wait_for_phase(arrived[stage], step / kStages % 2);
    multiply(sums, stages[stage]);
    device::wgmma_wait<1>(sums);  // the previous step's products: nobody reads their tiles any more
    __syncthreads();
    const int next = step + kStages - 1;
    if (threadIdx.x == 0 && next < steps)
      order(stages[next % kStages], arrived[next % kStages], a, b, place, next * kDepth);
  }
  device::wgmma_wait<0>(sums);
  store(c, sizes, place, sums);
}

}  // namespace

void whole_tiles(float* c, const __nv_bfloat16* a, const __nv_bfloat16* b, ProductSizes sizes, cudaStream_t stream) {
  const dim3 grid(pieces(sizes.n, kTile), pieces(sizes.m, kTile));
  const device::TileMap map_a = device::make_tile_map(a, sizes.m, sizes.k, kTile);
  const device::TileMap map_b = device::make_tile_map(b, sizes.n, sizes.k, kTile);
  cudaFuncSetAttribute(whole_tiles_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes);
  whole_tiles_kernel<<<grid, kThreads, kSharedBytes, stream>>>(c, map_a, map_b, sizes);
}

}  // namespace lockstep::ladders::inline LOCKSTEP_KERNEL_NAMESPACE::tensor_cores
