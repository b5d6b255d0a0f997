#pragma once
/// @file
/// Replaces CUDA's header of this name (CUDA C++ Programming Guide, "Pipeline Primitives Interface").
#include <cstddef>

#include "lockstep_emulator/tensor_core.h"

/// Copies 4, 8 or 16 bytes to shared memory; the last `zero_bytes` of them become 0 and are not read.
inline void __pipeline_memcpy_async(void* to, const void* from, std::size_t bytes, std::size_t zero_bytes = 0,
                                    lockstep::emulator::SourcePlace at = lockstep::emulator::SourcePlace::here()) {
  lockstep::emulator::copy_async(to, from, bytes, bytes - zero_bytes, at);
}
/// Ends a stage: the copies of this thread since the last one.
inline void __pipeline_commit() { lockstep::emulator::copy_async_commit(); }
/// Waits for this thread's stages except the last `most_pending`. Other threads see the copies after a barrier.
inline void __pipeline_wait_prior(std::size_t most_pending) {
  lockstep::emulator::copy_async_wait(static_cast<unsigned>(most_pending));
}
