#pragma once
/// @file
/// Emulation behind common/gpu/device/hopper.hpp: barriers with phases, copies of tiles, products of warpgroups.
#include "export.h"
#include "source_place.h"

struct __nv_bfloat16;

namespace lockstep::emulator {

/// A matrix [rows, columns] of bfloat16 in device memory, and the height of the tiles that copies cut from it.
struct TileMap {
  const void* matrix = nullptr;
  int rows = 0;
  int columns = 0;
  int tile_rows = 0;
};

/// @throws ContractError  CUDA would refuse the map: address, columns or tile_rows are not as required.
[[nodiscard]] LOCKSTEP_EMULATOR_API TileMap make_tile_map(const __nv_bfloat16* matrix, int rows, int columns,
                                                          int tile_rows);

/// mbarrier.init: phases of `arrivals` arrivals.
LOCKSTEP_EMULATOR_API void init_phase_barrier(void* barrier, unsigned arrivals, SourcePlace at);
/// mbarrier.arrive, with expect_tx of `bytes`.
LOCKSTEP_EMULATOR_API void arrive_at_phase_barrier(void* barrier, unsigned bytes, SourcePlace at);
/// mbarrier.try_wait.parity until it is true. Copies land here, not before.
LOCKSTEP_EMULATOR_API void wait_at_phase_barrier(void* barrier, unsigned parity, SourcePlace at);
/// fence.proxy.async.
LOCKSTEP_EMULATOR_API void fence_async_proxy();
/// cp.async.bulk.tensor.2d with the 128-byte swizzle.
LOCKSTEP_EMULATOR_API void copy_tile(void* tile, const TileMap& map, int row, int column, void* barrier,
                                     SourcePlace at);

/// wgmma.fence.
LOCKSTEP_EMULATOR_API void wgmma_fence();
/// wgmma.mma_async.m64n128k16: reads the tiles only when the thread waits for it; until then d is NaN.
LOCKSTEP_EMULATOR_API void wgmma_m64n128k16(float* d, const void* a, const void* b, SourcePlace at);
/// wgmma.commit_group.
LOCKSTEP_EMULATOR_API void wgmma_commit();
/// wgmma.wait_group: completes all committed groups except the `most_pending` latest.
LOCKSTEP_EMULATOR_API void wgmma_wait(unsigned most_pending);

}  // namespace lockstep::emulator
