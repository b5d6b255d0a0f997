#pragma once
/// @file
/// threadIdx and related variables. They never change for one thread, hence `const`: compilers may keep them in
/// registers, and the checker does not count reads of them as memory accesses. The engine sets them at every switch to
/// another thread.
#include "../vector_types.h"
#include "export.h"

extern LOCKSTEP_EMULATOR_API const uint3 threadIdx;  ///< Of the thread, in its block.
extern LOCKSTEP_EMULATOR_API const uint3 blockIdx;   ///< Of the block, in the grid.
extern LOCKSTEP_EMULATOR_API const dim3 blockDim;    ///< Threads of a block.
extern LOCKSTEP_EMULATOR_API const dim3 gridDim;     ///< Blocks of the grid.
inline constexpr int warpSize = 32;                  ///< Threads of a warp.
