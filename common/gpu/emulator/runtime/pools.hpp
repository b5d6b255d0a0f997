#pragma once
/// @file
/// Which memory is counted for which memory pool. Thread safety: every call from any thread.
#include "emulator/cuda/lockstep_emulator/api_pools.h"
#include "emulator/engine/device_memory.hpp"

namespace lockstep::emulator {

/// The device of a pool. @throws ApiError  The pool is not live.
int device_of_pool(cudaMemPool_t pool);
/// Counts a block as memory of a live pool; null: of the current pool of its device.
void add_to_pool(cudaMemPool_t pool, const Allocation& block);
/// No longer counts the block; does nothing for memory of no pool.
void remove_from_pool(const void* block);
/// For a device that is reset: its default pool is the current one again, and all its pools are empty.
void reset_pools(int device);

/// The work of cudaMallocAsync. @param pool  Null: the current pool of the stream's device.
void allocate_in_order(void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream, SourcePlace place);

}  // namespace lockstep::emulator
