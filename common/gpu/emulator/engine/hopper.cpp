// Hopper's instructions, declared in ../cuda and forwarded to the running block.
#include "emulator/cuda/lockstep_emulator/hopper.h"

#include <cstdint>

#include "base/error.hpp"
#include "emulator/engine/block_runner.hpp"

namespace lockstep::emulator {

namespace {

BlockRunner& runner_of(const char* what) {
  require(current_thread() != nullptr, what, " works inside a kernel only");
  return BlockRunner::instance();
}

}  // namespace

TileMap make_tile_map(const __nv_bfloat16* matrix, int rows, int columns, int tile_rows) {
  require(reinterpret_cast<std::uintptr_t>(matrix) % 16 == 0, "make_tile_map: the matrix is not aligned to 16 bytes");
  require(rows > 0 && columns > 0 && columns % 8 == 0, "make_tile_map: [", rows, ", ", columns,
          "]: both must be positive, the columns a multiple of 8");
  require(tile_rows > 0 && tile_rows <= 256, "make_tile_map: a tile has 1 to 256 rows, not ", tile_rows);
  return {matrix, rows, columns, tile_rows};
}

void init_phase_barrier(void* barrier, unsigned arrivals, SourcePlace at) {
  runner_of("mbarrier.init").units().phase_barriers.init(barrier, arrivals, at);
}

void arrive_at_phase_barrier(void* barrier, unsigned bytes, SourcePlace at) {
  runner_of("mbarrier.arrive").units().phase_barriers.arrive(barrier, bytes, at);
}

void wait_at_phase_barrier(void* barrier, unsigned parity, SourcePlace at) {
  runner_of("mbarrier.try_wait").units().phase_barriers.wait(barrier, parity % 2, at);
}

void fence_async_proxy() {
  BlockRunner& runner = runner_of("fence.proxy.async");
  runner.units().phase_barriers.fence();
  if (Observer* const observer = runner.kernel().observer()) observer->fence_async_proxy();
}

void copy_tile(void* tile, const TileMap& map, int row, int column, void* barrier, SourcePlace at) {
  BlockRunner& runner = runner_of("cp.async.bulk.tensor");
  if (runner.kernel().observer() != nullptr) {
    runner.units().products.note_overwritten(tile, static_cast<std::size_t>(map.tile_rows) * kTileRowBytes, at);
  }
  runner.units().phase_barriers.add({tile, map, row, column, at}, barrier);
}

void wgmma_fence() { runner_of("wgmma.fence").units().products.fence(); }

void wgmma_m64n128k16(float* d, const void* a, const void* b, SourcePlace at) {
  runner_of("wgmma.mma_async").units().products.start(d, a, b, at);
}

void wgmma_commit() { runner_of("wgmma.commit_group").units().products.commit(); }

void wgmma_wait(unsigned most_pending) { runner_of("wgmma.wait_group").units().products.wait(most_pending); }

bool is_unfinished_sum(const ThreadState& thread, const void* address) {
  return BlockRunner::instance().units().products.is_unfinished(thread, address);
}

}  // namespace lockstep::emulator
