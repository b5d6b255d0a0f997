// Products of tiles by Hopper's instructions. Lines that a report must name end in a mark.
#include "device/hopper.hpp"
#include "hopper_kernels.hpp"

namespace lockstep::emulator::test {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {
namespace {

constexpr int kColumns = device::kTileColumns;

struct Tiles {
  __nv_bfloat16 a[64][kColumns];
  __nv_bfloat16 b[128][kColumns];
};

__device__ void multiply(float (&sums)[64], const Tiles& tiles) {
  for (int k = 0; k < kColumns; k += 16) {
    device::wgmma_m64n128k16(sums, &tiles.a[0][k], &tiles.b[0][k]);  // mark: product
  }
  device::wgmma_commit();
}

__device__ void store(float* c, const float (&sums)[64]) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32 % 4;
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    const int row = warp * 16 + lane / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
    c[row * 128 + column] = sums[i];  // mark: sum
  }
}

__device__ void copy(Tiles& tiles, device::PhaseBarrier& arrived, const device::TileMap& a, const device::TileMap& b,
                     int round) {
  device::copy_tile(tiles.a, a, 0, round * kColumns, arrived);  // mark: copy of a
  device::copy_tile(tiles.b, b, 0, round * kColumns, arrived);  // mark: copy of b
}

__global__ void __launch_bounds__(128)
    in_turns_kernel(Mistake mistake, TileProduct product, const __grid_constant__ device::TileMap a,
                    const __grid_constant__ device::TileMap b) {
  const bool is_shifted = mistake == Mistake::kMisalignedTile;
  __shared__ __align__(1024) unsigned char memory[sizeof(Tiles) + 512];
  __shared__ device::PhaseBarrier arrived;
  Tiles& tiles = *reinterpret_cast<Tiles*>(memory + (is_shifted ? 512 : 0));
  if (threadIdx.x == 0) {
    if (mistake != Mistake::kNoInit) device::init_barrier(arrived, 1);  // mark: init
    if (mistake != Mistake::kNoFenceAfterInit) device::fence_async_proxy();
  }
  __syncthreads();
  float sums[64] = {};
  for (int round = 0; round < product.rounds; ++round) {
    if (threadIdx.x == 0) {
      copy(tiles, arrived, a, b, round);
      unsigned bytes = sizeof(Tiles);
      if (mistake == Mistake::kTooFewBytes) bytes -= 64;
      if (mistake == Mistake::kTooManyBytes) bytes += 64;
      device::arrive_expecting(arrived, bytes);
      if (mistake == Mistake::kTwoArrivals) device::arrive(arrived);  // mark: arrival
    }
    unsigned parity = mistake == Mistake::kParityNeverFlipped ? 0 : round % 2;
    if (mistake == Mistake::kWrongPhase) parity = 1 - parity;
    const bool waits = mistake != Mistake::kNoWait && (mistake != Mistake::kOneThreadWaits || threadIdx.x == 0);
    if (waits) device::wait_for_phase(arrived, parity);  // mark: wait
    if (mistake != Mistake::kNoProductFence) device::wgmma_fence();
    multiply(sums, tiles);
    if (mistake == Mistake::kCopyOverTile) {
      __syncthreads();
      if (threadIdx.x == 0) copy(tiles, arrived, a, b, round);
    }
    if (mistake != Mistake::kSumsTooEarly) device::wgmma_wait<0>(sums);
    __syncthreads();  // everybody has read the tiles
  }
  store(product.c, sums);
}

__global__ void __launch_bounds__(128) from_stores_kernel(Mistake mistake, TileProduct product) {
  __shared__ __align__(1024) Tiles tiles;
  for (int i = threadIdx.x; i < 128 * kColumns; i += 128) {
    const int row = i / kColumns, column = i % kColumns;
    const int place = (column / 8 ^ row % 8) * 8 + column % 8;  // the swizzle
    if (row < 64) tiles.a[row][place] = product.a[i];
    tiles.b[row][place] = product.b[i];  // mark: store
  }
  if (mistake != Mistake::kNoFenceAfterStores) device::fence_async_proxy();
  __syncthreads();
  float sums[64] = {};
  device::wgmma_fence();
  multiply(sums, tiles);
  if (mistake == Mistake::kStoreOverTile) {
    __syncthreads();
    for (int i = threadIdx.x; i < 64 * kColumns; i += 128)
      tiles.a[i / kColumns][i % kColumns] = __float2bfloat16(99.0F);
  }
  device::wgmma_wait<0>(sums);
  store(product.c, sums);
}

__global__ void __launch_bounds__(160)
    two_roles_kernel(Mistake mistake, TileProduct product, const __grid_constant__ device::TileMap a,
                     const __grid_constant__ device::TileMap b) {
  __shared__ __align__(1024) Tiles tiles;
  __shared__ device::PhaseBarrier arrived, used;
  if (threadIdx.x == 0) {
    device::init_barrier(arrived, 1);
    device::init_barrier(used, 128);
    device::fence_async_proxy();
  }
  __syncthreads();
  if (threadIdx.x >= 128) {
    for (int round = 0; threadIdx.x == 128 && round < product.rounds; ++round) {
      device::wait_for_phase(used, 1 - round % 2);  // at once in the first round
      device::arrive_expecting(arrived, sizeof(Tiles));
      copy(tiles, arrived, a, b, round);
    }
    return;
  }
  float sums[64] = {};
  for (int round = 0; round < product.rounds; ++round) {
    device::wait_for_phase(arrived, round % 2);
    device::wgmma_fence();
    multiply(sums, tiles);
    if (mistake != Mistake::kReleasedTooEarly) device::wgmma_wait<0>(sums);
    device::arrive(used);
    if (mistake == Mistake::kReleasedTooEarly) device::wgmma_wait<0>(sums);
  }
  store(product.c, sums);
}

struct Maps {
  device::TileMap a, b;
  explicit Maps(const TileProduct& product)
      : a(device::make_tile_map(product.a, 64, kColumns * product.rounds, 64)),
        b(device::make_tile_map(product.b, 128, kColumns * product.rounds, 128)) {}
};

}  // namespace

void in_turns(Mistake mistake, const TileProduct& product) {
  const Maps maps(product);
  in_turns_kernel<<<1, 128>>>(mistake, product, maps.a, maps.b);
}

void from_stores(Mistake mistake, const TileProduct& product) { from_stores_kernel<<<1, 128>>>(mistake, product); }

void two_roles(Mistake mistake, const TileProduct& product) {
  const Maps maps(product);
  two_roles_kernel<<<1, 160>>>(mistake, product, maps.a, maps.b);
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::emulator::test
