#pragma once
/// @file
/// The engine's side of threadIdx and its relatives, which kernels see as constants.
#include "emulator/engine/execution.hpp"

namespace lockstep::emulator {

/// Sets threadIdx and current_thread(); null: no thread.
void set_current_thread(ThreadState* thread) noexcept;
/// Sets blockIdx, blockDim, gridDim and current_block(); null: no block.
void set_current_block(BlockState* block) noexcept;

}  // namespace lockstep::emulator
