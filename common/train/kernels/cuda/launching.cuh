#pragma once
/// @file
/// Helpers for every launch.
#include <cuda_runtime.h>

#include <cstddef>

#include "device/cuda_check.hpp"
#include "device/launch.hpp"

namespace lockstep::kernels::cuda {
inline namespace LOCKSTEP_KERNEL_NAMESPACE {

using device::dynamic_shared;
using device::launch;

/// The dynamic shared memory that every kernel gets without asking (CUDA C++ Programming Guide, "Shared Memory" of
/// compute capability 8.0), minus its static shared memory.
inline constexpr std::size_t kSharedBytesForAll = 47 * 1024;

/// Lets `kernel` use this much dynamic shared memory. @throws CudaError  More than the device has.
template <typename Kernel>
void allow_shared_memory(Kernel* kernel, std::size_t bytes) {
  if (bytes <= kSharedBytesForAll) return;
  cuda_check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
}

}  // namespace LOCKSTEP_KERNEL_NAMESPACE
}  // namespace lockstep::kernels::cuda
