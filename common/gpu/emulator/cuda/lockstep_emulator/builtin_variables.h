#pragma once
/// @file
/// threadIdx and its relatives. To one thread they never change, hence `const`: compilers may keep them in registers,
/// and reading them is no memory access to the checker. The engine sets them whenever it goes on with another thread.
#include "../vector_types.h"
#include "export.h"

extern LOCKSTEP_EMULATOR_API const uint3 threadIdx;  ///< Place in the block.
extern LOCKSTEP_EMULATOR_API const uint3 blockIdx;   ///< Place of the block in the grid.
extern LOCKSTEP_EMULATOR_API const dim3 blockDim;    ///< Threads of a block.
extern LOCKSTEP_EMULATOR_API const dim3 gridDim;     ///< Blocks of the grid.
inline constexpr int warpSize = 32;                  ///< Threads of a warp.
