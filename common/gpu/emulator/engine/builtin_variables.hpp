#pragma once
/// @file
/// The engine's side of threadIdx and its relatives, which kernels see as constants.
#include "emulator/engine/execution.hpp"

namespace lockstep::emulator {

/// Sets threadIdx and current_thread(); null if no thread runs.
void set_current_thread(ThreadState* thread) noexcept;
/// Sets blockIdx, blockDim, gridDim and current_block(); null if no block runs.
void set_current_block(BlockState* block) noexcept;
/// True if an address lies in one of these variables. A linker may put blockDim and gridDim, whose type has
/// constructors, among a program's data, and the compiler reports reads of them as accesses.
bool is_builtin_variable(const void* address) noexcept;

}  // namespace lockstep::emulator
