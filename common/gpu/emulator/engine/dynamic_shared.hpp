#pragma once
/// @file
/// The memory behind `extern __shared__`: one place for the process, since one block runs at a time.
#include <cstddef>

#include "emulator/cuda/lockstep_emulator/memory.h"

namespace lockstep::emulator {

/// What a block may have at most on the GPUs that the project is written for (CUDA C++ Programming Guide, "Compute
/// Capabilities", 9.0). What is beyond 48 KiB has to be asked for by cudaFuncSetAttribute.
inline constexpr std::size_t kMaxDynamicShared = 227 * 1024, kDefaultDynamicShared = 48 * 1024;

}  // namespace lockstep::emulator
