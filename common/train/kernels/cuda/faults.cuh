#pragma once
/// @file
/// How a kernel reports an index that is out of range.
#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/arguments.hpp"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

/// Records `value` at `position`; the least position wins, in any order of threads.
__device__ inline void note_fault(unsigned long long* fault, std::int64_t position, std::int32_t value) {
  atomicMin(fault, (static_cast<unsigned long long>(position) << 32) | static_cast<unsigned int>(value));
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
