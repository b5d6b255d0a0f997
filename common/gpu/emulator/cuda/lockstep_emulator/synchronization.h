#pragma once
/// @file
/// Barriers and fences (CUDA C++ Programming Guide, "Synchronization Functions" and "Memory Fence Functions").
#include "export.h"
#include "source_place.h"

namespace lockstep::emulator {

/// How a barrier combines the predicates of all threads.
enum class BarrierResult { kNothing, kCount, kAnd, kOr };

/// Waits for all threads of the block that have not ended.
LOCKSTEP_EMULATOR_API int sync_block(BarrierResult wanted, int predicate, SourcePlace at);
/// Waits for the lanes of `mask` that have not ended.
LOCKSTEP_EMULATOR_API void sync_warp(unsigned mask, SourcePlace at);
/// Waits for all blocks of the grid. Ends the kernel unless it was launched by cudaLaunchCooperativeKernel().
LOCKSTEP_EMULATOR_API void sync_grid(SourcePlace at);
/// True if the running kernel was launched so that sync_grid() works.
LOCKSTEP_EMULATOR_API bool is_cooperative() noexcept;
/// Orders memory accesses for other threads.
LOCKSTEP_EMULATOR_API void memory_fence(bool is_whole_device);
/// Lets other threads run first: for threads that spin.
LOCKSTEP_EMULATOR_API void yield_thread();
/// Ends the kernel with an error.
[[noreturn]] LOCKSTEP_EMULATOR_API void trap(SourcePlace at);
/// The number of calls in this process: a clock that ticks when read. Not a measure of time.
LOCKSTEP_EMULATOR_API long long clock_ticks();

}  // namespace lockstep::emulator

// clang-format off
inline void __syncthreads(lockstep::emulator::SourcePlace at = lockstep::emulator::SourcePlace::here()) {
  lockstep::emulator::sync_block(lockstep::emulator::BarrierResult::kNothing, 0, at);
}
inline int __syncthreads_count(int predicate, lockstep::emulator::SourcePlace at = lockstep::emulator::SourcePlace::here()) {
  return lockstep::emulator::sync_block(lockstep::emulator::BarrierResult::kCount, predicate, at);
}
inline int __syncthreads_and(int predicate, lockstep::emulator::SourcePlace at = lockstep::emulator::SourcePlace::here()) {
  return lockstep::emulator::sync_block(lockstep::emulator::BarrierResult::kAnd, predicate, at);
}
inline int __syncthreads_or(int predicate, lockstep::emulator::SourcePlace at = lockstep::emulator::SourcePlace::here()) {
  return lockstep::emulator::sync_block(lockstep::emulator::BarrierResult::kOr, predicate, at);
}
inline void __syncwarp(unsigned mask = 0xffffffffU, lockstep::emulator::SourcePlace at = lockstep::emulator::SourcePlace::here()) {
  lockstep::emulator::sync_warp(mask, at);
}
inline void __threadfence_block() { lockstep::emulator::memory_fence(false); }
inline void __threadfence() { lockstep::emulator::memory_fence(true); }
inline void __threadfence_system() { lockstep::emulator::memory_fence(true); }
inline void __nanosleep(unsigned) { lockstep::emulator::yield_thread(); }
[[noreturn]] inline void __trap(lockstep::emulator::SourcePlace at = lockstep::emulator::SourcePlace::here()) { lockstep::emulator::trap(at); }
inline long long clock64() { return lockstep::emulator::clock_ticks(); }
// clang-format on
