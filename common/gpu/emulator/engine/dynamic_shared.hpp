#pragma once
/// @file
/// The memory behind `extern __shared__`: one buffer per process, because one block runs at a time.
#include <cstddef>

#include "emulator/cuda/lockstep_emulator/memory.h"

namespace lockstep::emulator {

/// Maximum dynamic shared memory of a block on this project's target GPUs (CUDA C++ Programming Guide, "Compute
/// Capabilities", 9.0). More than 48 KiB must be requested with cudaFuncSetAttribute.
inline constexpr std::size_t kMaxDynamicShared = 227 * 1024, kDefaultDynamicShared = 48 * 1024;

}  // namespace lockstep::emulator
