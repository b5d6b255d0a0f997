// Synchronization functions that kernels call, declared by the headers in ../cuda and forwarded to the running block.
#include "base/error.hpp"
#include "base/text.hpp"
#include "emulator/cuda/lockstep_emulator/synchronization.h"
#include "emulator/cuda/lockstep_emulator/warp.h"
#include "emulator/engine/block_runner.hpp"

namespace lockstep::emulator {

namespace {

BlockRunner& runner_of(const char* what) {
  if (current_thread() == nullptr) throw ContractError(concat(what, " works inside a kernel only"));
  return BlockRunner::instance();
}

const WarpOperation kSyncWarp{"__syncwarp", nullptr};

long long clock_reading = 0;

}  // namespace

int sync_block(BarrierResult wanted, int predicate, SourcePlace at) {
  return runner_of("__syncthreads").sync_block(wanted, predicate, at);
}

void sync_warp(unsigned mask, SourcePlace at) {
  LaneCall call;
  runner_of("__syncwarp").meet(kSyncWarp, mask, 0, call, at);
}

unsigned active_mask(SourcePlace at) { return runner_of("__activemask").active_mask(at); }

void sync_grid(SourcePlace at) { runner_of("grid.sync()").units().grid_barrier.wait(at); }

bool is_cooperative() noexcept { return current_block() != nullptr && current_block()->call->is_cooperative; }

void memory_fence(bool is_whole_device) {
  BlockRunner& runner = runner_of("__threadfence");
  runner.note_possible_spin();
  if (Observer* const observer = runner.kernel().observer()) observer->fence(is_whole_device);
}

void yield_thread() { runner_of("__nanosleep").note_possible_spin(); }

void trap(SourcePlace at) {
  BlockRunner& runner = runner_of("__trap");
  current_thread()->waiting_at = at;
  runner.kernel().fail(concat("a thread called __trap at ", at.file, ":", at.line));
  runner.threads().abandon();
}

long long clock_ticks() { return ++clock_reading; }

unsigned lane_id() noexcept { return current_thread() == nullptr ? 0 : current_thread()->lane; }

}  // namespace lockstep::emulator
